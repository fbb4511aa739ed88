// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// ownerLabel and ownerAnnotation mark dependents.
	ownerLabel      = Name + "/" + types.LabelKeySuffixOwnerId
	ownerAnnotation = Name + "/" + types.AnnotationKeySuffixOwnerId
	// concurrency is how many objects are marked at the same time.
	concurrency = 16
	// attempts bounds how often an object is read again because others have changed it.
	attempts = 5
)

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

// isForeign reports whether an object is a dependent of another owner than the one with the ID.
func isForeign(object client.Object, owner string) bool {
	mark := object.GetLabels()[ownerLabel]
	return mark != "" && mark != manifest.OwnerLabel(owner)
}

// claim makes obsolete objects dependents, so that the engine deletes them, and returns the results of those that are
// not deleted.
func (c *syncContext) claim(ctx context.Context, w *work) ([]ResourceSyncResult, error) {
	settled := c.skipped(w)
	err := concurrent.Each(concurrency, w.strays, func(_ int, object *unstructured.Unstructured) error { return c.letGo(ctx, object) })
	if err != nil {
		return nil, err
	}
	ids := sortedIDs(w.pruned)
	claims := make([]claimOutcome, len(ids))
	err = concurrent.Each(concurrency, ids, func(i int, id types.ObjectID) (err error) {
		if live := w.obsolete[id]; live != nil && !c.terminating() {
			claims[i], err = c.mark(ctx, live)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.terminating() {
		return nil, errTerminated
	}
	for i, id := range ids {
		item := w.pruned[id]
		result := resultOf(item)
		switch claims[i] {
		case objectForeign:
			result.Status, result.HookPhase, result.Message = ResultCodePruneSkipped, OperationSucceeded, foreignText
		case objectVanished:
			result.Status, result.HookPhase, result.Message = ResultCodePruned, OperationSucceeded, goneText
		case objectClaimed:
			continue
		default: // it is recorded, and not looked at
			continue
		}
		settled = append(settled, result)
		delete(w.pruned, id)
		w.request.Inventory = slices.DeleteFunc(w.request.Inventory, func(other *inventory.Item) bool { return other == item })
	}
	slices.SortFunc(settled, func(a, b ResourceSyncResult) int { return a.ResourceKey.id().Compare(b.ResourceKey.id()) })
	return settled, nil
}

// mark makes a live object a dependent, so that the engine deletes it. The caller vouches that the object belongs to
// the owner.
func (c *syncContext) mark(ctx context.Context, live *unstructured.Unstructured) (claimOutcome, error) {
	owner := manifest.OwnerLabel(c.owner)
	claim, err := c.patchMetadata(ctx, live, func(object *metav1.PartialObjectMetadata) (claimOutcome, map[string]any) {
		switch object.GetLabels()[ownerLabel] {
		case owner:
			return objectClaimed, nil
		case "":
			return objectClaimed, map[string]any{"labels": map[string]any{ownerLabel: owner}, "annotations": map[string]any{ownerAnnotation: c.owner}}
		default:
			return objectForeign, nil
		}
	})
	if err != nil {
		return "", fmt.Errorf("marking %s for pruning: %w", types.IDOf(live), err)
	}
	return claim, nil
}

// letGo removes the finalizer that keeps an object until its outcome is recorded, and that of Argo CD, if the object
// has one of them and belongs to no other owner. Otherwise there is no request.
func (c *syncContext) letGo(ctx context.Context, live *unstructured.Unstructured) error {
	set := annotations.Finalizers{Outcome: annotations.OutcomeFinalizer(Name), Former: []string{gitops.HookFinalizer}}
	_, err := c.patchMetadata(ctx, live, func(object *metav1.PartialObjectMetadata) (claimOutcome, map[string]any) {
		if isForeign(object, c.owner) || !set.On(object.GetFinalizers()) {
			return objectClaimed, nil
		}
		return objectClaimed, map[string]any{"finalizers": set.Without(object.GetFinalizers())}
	})
	if err != nil {
		return fmt.Errorf("removing the finalizer of %s: %w", types.IDOf(live), err)
	}
	return nil
}

// patchMetadata changes the metadata of an object as the function says, which is called again when others have changed the
// object.
func (c *syncContext) patchMetadata(
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
		if err = c.client.Patch(ctx, object, patch, client.FieldOwner(cmp.Or(c.manager, Name))); err == nil {
			return claim, nil
		}
		if !apiserver.IsOutdated(err) && !apierrors.IsInvalid(err) {
			break
		}
		if err = c.client.Get(ctx, client.ObjectKeyFromObject(live), object); err != nil {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		return objectVanished, nil
	}
	return "", err
}
