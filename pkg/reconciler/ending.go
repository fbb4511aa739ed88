// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/finalizers"
)

// requestEnd requests the deletion of the object that was seen, and reports whether the server has said that it is gone. An
// object that defines types is deleted only if it has no instances, and none can be created (see barrier): they would go with
// it, whatever finalizers it has. Likewise, a namespace is deleted only if there is nothing of others in it. Otherwise held says
// what is awaited; it is nil if the deletion was requested.
func (p *pass) requestEnd(ctx context.Context, item *InventoryItem, s situation) (gone bool, held *outcome, err error) {
	if isNamespace(item.GroupVersionKind().GroupKind()) {
		if message, err := p.holdNamespace(ctx, item); err != nil || message != "" {
			p.requeueAfter(p.retry(item))
			return false, &outcome{item: item, message: message}, err
		}
	}
	if !definesTypes(item.GroupVersionKind().GroupKind()) {
		gone, err = p.requestDeletion(ctx, item, s)
		return gone, nil, err
	}
	if held, err = p.awaitBarrier(ctx, item, p.barrierOf(item, s.seen.UID)); err != nil || held != nil {
		return false, held, err
	}
	brought, err := p.broughtBy(ctx, item)
	if err != nil {
		return false, nil, err
	}
	blockers, resources, err := p.instances(ctx, brought, "")
	if err != nil {
		return false, nil, err
	}
	if len(blockers) > 0 {
		p.guard(resources)
		// An instance that carries our label although it is not recorded goes without an event.
		p.requeueAfter(p.retry(item))
		texts := blockerTexts(blockers)
		held = &outcome{item: item, instances: texts, message: "kept as long as there are instances of its types: " + texts}
		return false, held, p.lift(ctx, item)
	}
	if b := p.barrierOf(item, s.seen.UID); b != nil && item.Barrier == "" {
		return false, &outcome{item: item, message: barrierAwaited, securing: true, barrier: b}, nil
	}
	if gone, err = p.requestDeletion(ctx, item, s); err != nil || gone {
		return gone, nil, err
	}
	return false, nil, p.releaseFinalizer(ctx, item)
}

// guard has the observer report when foreign instances of the resources go.
func (p *pass) guard(resources []schema.GroupVersionResource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guarded = append(p.guarded, resources...)
}

// requestDeletion requests the deletion of exactly the object that was seen, and tells whether the server has said that it is
// gone. That it does not exist is no error, and no proof either; that its type is not served is an error, because it may be
// served in another version.
func (p *pass) requestDeletion(ctx context.Context, item *InventoryItem, s situation) (gone bool, err error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	object.SetNamespace(item.Namespace)
	object.SetName(item.Name)
	var deletion clients.Deletion
	ctx = clients.WithDeletion(ctx, &deletion)
	err = p.mutate("delete", func() error {
		return p.client.Delete(ctx, object,
			client.Preconditions{UID: &s.seen.UID, ResourceVersion: &s.seen.ResourceVersion},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
	})
	if isGone(err) && !isTypeless(err) {
		return false, nil
	}
	return deletion.Gone(s.seen.UID), err
}

// releaseFinalizer removes our finalizer from an object that is being deleted.
func (p *pass) releaseFinalizer(ctx context.Context, item *InventoryItem) error {
	var last error
	for range maxAttempts {
		object, err := p.get(ctx, item)
		if isGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		owner := object.GetLabels()[p.keys.ownerLabel]
		if !p.finalizers().On(object.GetFinalizers()) || owner != "" && owner != p.label {
			return nil
		}
		err = p.patch(ctx, object, map[string]any{"finalizers": p.finalizers().Without(object.GetFinalizers())})
		if err == nil || isGone(err) {
			return nil
		}
		if !isOutdated(err) {
			return err
		}
		last = err
	}
	return fmt.Errorf("removing the finalizer of %s: it %s: %s", keyOf(item), changedAllTheTime, conflicts.Reason(last))
}

// finalizers returns those that this operator, and earlier versions of it, put on objects that define types.
func (r *Reconciler) finalizers() finalizers.Set {
	return finalizers.Set{Current: r.options.Finalizer, Former: r.options.FormerFinalizers}
}

// orphan releases the object that was seen: all marks are removed, so that others may adopt it.
func (p *pass) orphan(ctx context.Context, item *InventoryItem, s situation) error {
	object := reference(item, s)
	changes := map[string]any{
		"labels":      map[string]any{p.keys.ownerLabel: nil},
		"annotations": map[string]any{p.keys.ownerAnnotation: nil, p.keys.digest: nil},
	}
	if definesTypes(item.GroupVersionKind().GroupKind()) {
		live, err := p.get(ctx, item)
		if isGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		// The patch stays guarded by what was decided upon: if others changed the object since, it may be theirs.
		changes["finalizers"] = p.finalizers().Without(live.GetFinalizers())
	}
	err := p.patch(ctx, object, changes)
	if isGone(err) && !isTypeless(err) {
		return nil
	}
	return err
}

// reference denotes exactly the object that was seen.
func reference(item *InventoryItem, s situation) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	object.SetNamespace(item.Namespace)
	object.SetName(item.Name)
	object.SetUID(s.seen.UID)
	object.SetResourceVersion(s.seen.ResourceVersion)
	return object
}

// patch changes the metadata of an object, guarded by its UID and resource version.
func (p *pass) patch(ctx context.Context, object *unstructured.Unstructured, metadata map[string]any) error {
	metadata["uid"] = object.GetUID()
	metadata["resourceVersion"] = object.GetResourceVersion()
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encoding a patch of %s: %w", objectText(object), err)
	}
	return p.mutate("update", func() error {
		return p.client.Patch(ctx, object, client.RawPatch(apitypes.MergePatchType, body), client.FieldOwner(p.options.FieldOwner))
	})
}

func foreignSelector(key, value string) (labels.Selector, error) {
	requirement, err := labels.NewRequirement(key, selection.NotEquals, []string{value})
	if err != nil {
		return nil, fmt.Errorf("selecting foreign instances: %w", err)
	}
	return labels.NewSelector().Add(*requirement), nil
}
