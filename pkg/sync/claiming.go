// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/types"
)

// A pruneOwner makes objects its dependents.
type pruneOwner struct {
	// Name is the prefix of the label and the annotation.
	Name string
	// ID of the owner.
	ID string
	// Manager is the field manager of writes.
	Manager string
	// Client is for the cluster of the objects.
	Client client.Client
}

// claimOutcome says what became of an object that should become a dependent.
type claimOutcome string

const (
	// objectClaimed means that the object is a dependent of the owner.
	objectClaimed claimOutcome = "claimed"
	// objectVanished means that the object does not exist any more, or that there is another one with its name.
	objectVanished claimOutcome = "vanished"
	// objectForeign means that the object is a dependent of another owner.
	objectForeign claimOutcome = "foreign"
)

// attempts bounds how often an object is read again because others have changed it.
const attempts = 5

// IsForeign reports whether an object is a dependent of another owner.
func (o pruneOwner) IsForeign(object client.Object) bool {
	owner := object.GetLabels()[o.Name+"/"+types.LabelKeySuffixOwnerId]
	return owner != "" && owner != manifest.OwnerLabel(o.ID)
}

// Claim makes a live object a dependent, so that the engine deletes it. The caller vouches that the object belongs to
// it.
func (o pruneOwner) Claim(ctx context.Context, live *unstructured.Unstructured) (claimOutcome, error) {
	label, owner := o.Name+"/"+types.LabelKeySuffixOwnerId, manifest.OwnerLabel(o.ID)
	claim, err := o.patch(ctx, live, func(object *metav1.PartialObjectMetadata) (claimOutcome, map[string]any) {
		switch object.GetLabels()[label] {
		case owner:
			return objectClaimed, nil
		case "":
			return objectClaimed, map[string]any{"labels": map[string]any{label: owner}, "annotations": map[string]any{o.Name + "/" + types.AnnotationKeySuffixOwnerId: o.ID}}
		default:
			return objectForeign, nil
		}
	})
	if err != nil {
		return "", fmt.Errorf("marking %s for pruning: %w", types.IDOf(live), err)
	}
	return claim, nil
}

// Release removes the finalizer that keeps an object until its outcome is recorded, and that of Argo CD, if the object
// has one of them and belongs to no other owner. Otherwise there is no request.
func (o pruneOwner) Release(ctx context.Context, live *unstructured.Unstructured) error {
	set := annotations.Finalizers{Outcome: annotations.OutcomeFinalizer(o.Name), Former: []string{gitops.HookFinalizer}}
	_, err := o.patch(ctx, live, func(object *metav1.PartialObjectMetadata) (claimOutcome, map[string]any) {
		if o.IsForeign(object) || !set.On(object.GetFinalizers()) {
			return objectClaimed, nil
		}
		return objectClaimed, map[string]any{"finalizers": set.Without(object.GetFinalizers())}
	})
	if err != nil {
		return fmt.Errorf("removing the finalizer of %s: %w", types.IDOf(live), err)
	}
	return nil
}

// patch changes the metadata of an object as the function says, which is called again when others have changed the
// object.
func (o pruneOwner) patch(
	ctx context.Context, live *unstructured.Unstructured, change func(object *metav1.PartialObjectMetadata) (claimOutcome, map[string]any),
) (claimOutcome, error) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: live.GetNamespace(), Name: live.GetName(), UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(), Labels: live.GetLabels(),
		Finalizers: live.GetFinalizers(),
	}}
	object.SetGroupVersionKind(live.GroupVersionKind())
	var err error
	for range attempts {
		if object.GetUID() != live.GetUID() {
			return objectVanished, nil
		}
		claim, metadata := change(object)
		if metadata == nil {
			return claim, nil
		}
		patch, failure := apiserver.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{"metadata": metadata})
		if failure != nil {
			return "", failure
		}
		if err = o.Client.Patch(ctx, object, patch, client.FieldOwner(o.Manager)); err == nil {
			return claim, nil
		}
		if !apiserver.IsOutdated(err) && !apierrors.IsInvalid(err) {
			break
		}
		if err = o.Client.Get(ctx, client.ObjectKeyFromObject(live), object); err != nil {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		return objectVanished, nil
	}
	return "", err
}
