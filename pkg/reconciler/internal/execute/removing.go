// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// RequestDeletion requests the deletion of the observed object, and reports whether the response proves that it is
// gone. An answer that it does not exist is neither an error nor proof; an answer that its type is not served is an
// error, because another version may be served.
func (x *Executor) RequestDeletion(ctx context.Context, item *inventory.Item, s decide.Situation) (gone bool, err error) {
	var deletion clients.Deletion
	ctx = clients.WithDeletion(ctx, &deletion)
	err = x.Server.Mutate("delete", func() error {
		return x.Server.Client.Delete(ctx, reference(item, s),
			client.Preconditions{UID: &s.Seen.UID, ResourceVersion: &s.Seen.ResourceVersion},
			client.PropagationPolicy(cmp.Or(item.DeletePropagation, metav1.DeletePropagationBackground)))
	})
	if IsGone(err) && !IsTypeless(err) {
		return false, nil
	}
	return deletion.Gone(s.Seen.UID), err
}

// Release removes our finalizer from the observed object, and returns the situation then.
func (x *Executor) Release(ctx context.Context, item *inventory.Item, s decide.Situation) (decide.Situation, error) {
	if !x.Holds(s) {
		return s, nil
	}
	object := reference(item, s)
	if err := x.patch(ctx, object, map[string]any{"finalizers": x.withoutOurs(s)}); err != nil {
		return s, err
	}
	s.Seen = x.Server.Reader.Read(object)
	return s, nil
}

// withoutOurs returns the finalizers of the observed object without ours.
func (x *Executor) withoutOurs(s decide.Situation) []string {
	return x.Finalizers.Without(strings.Split(s.Seen.Finalizers, ","))
}

// RemoveFinalizer removes our finalizer from an object that is being deleted.
func (x *Executor) RemoveFinalizer(ctx context.Context, item *inventory.Item) error {
	var last error
	for range MaxAttempts {
		object, err := x.Server.Get(ctx, item)
		if IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		owner := object.GetLabels()[x.Server.Keys.OwnerLabel]
		if !x.Finalizers.On(object.GetFinalizers()) || owner != "" && owner != x.Owner.Label {
			return nil
		}
		err = x.patch(ctx, object, map[string]any{"finalizers": x.Finalizers.Without(object.GetFinalizers())})
		if err == nil || IsGone(err) {
			return nil
		}
		if !IsOutdated(err) {
			return err
		}
		last = err
	}
	return fmt.Errorf("removing the finalizer of %s: it %s: %s", types.IDOf(item), decide.ChangedOnEveryAttempt, apiserver.Reason(last))
}

// RetryDeletion changes an object that is being deleted, so that the API server goes on with its deletion. A refusal is
// ignored: the deletion then waits as it would have anyway.
func (x *Executor) RetryDeletion(ctx context.Context, item *inventory.Item, s decide.Situation) error {
	key := x.Server.Keys.Prefix + types.AnnotationKeySuffixDeletionRetriedAt
	err := x.patch(ctx, reference(item, s), map[string]any{"annotations": map[string]any{key: x.Server.Clock.Now().UTC().Format(time.RFC3339)}})
	if _, refused := errors.AsType[*apierrors.StatusError](err); refused {
		return nil
	}
	return err
}

// Orphan removes all our marks from the observed object, so that others may adopt it. The digest annotation then
// identifies the owner that released it and may take it back.
func (x *Executor) Orphan(ctx context.Context, item *inventory.Item, s decide.Situation) error {
	object := reference(item, s)
	changes := map[string]any{
		"labels":      map[string]any{x.Server.Keys.OwnerLabel: nil},
		"annotations": map[string]any{x.Server.Keys.OwnerAnnotation: nil, x.Server.Keys.Digest: prepare.DigestReleased + x.Owner.Label},
	}
	if x.Holds(s) {
		changes["finalizers"] = x.withoutOurs(s)
	}
	err := x.patch(ctx, object, changes)
	if IsGone(err) && !IsTypeless(err) {
		return nil
	}
	return err
}

// reference returns an object with the identity, UID and resource version of the observed object.
func reference(item *inventory.Item, s decide.Situation) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	object.SetNamespace(item.Namespace)
	object.SetName(item.Name)
	object.SetUID(s.Seen.UID)
	object.SetResourceVersion(s.Seen.ResourceVersion)
	return object
}

// patch changes the metadata of an object, guarded by its UID and resource version.
func (x *Executor) patch(ctx context.Context, object *unstructured.Unstructured, metadata map[string]any) error {
	patch, err := apiserver.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return x.Server.Mutate("update", func() error {
		return x.Server.Client.Patch(ctx, object, patch, client.FieldOwner(x.Server.FieldOwner))
	})
}

// MarkOnly sets our marks on the observed object, without changing its content. It returns the response.
func (x *Executor) MarkOnly(ctx context.Context, t *prepare.Object, item *inventory.Item, s decide.Situation) (*unstructured.Unstructured, error) {
	object := reference(item, s)
	labels, annotations := x.marks(t)
	metadata := map[string]any{"labels": labels, "annotations": annotations}
	if s.Live != nil {
		if references := x.ofOthers(s.Live.GetOwnerReferences()); len(references) != len(s.Live.GetOwnerReferences()) {
			metadata["ownerReferences"] = references
		}
	}
	return object, x.patch(ctx, object, metadata)
}
