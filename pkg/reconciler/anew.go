// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/types"
)

// isHolder reports whether objects of the kind hold something that is lost if they are created anew. Objects that define types do as well, but wait
// until it has gone; see requestEnd.
func isHolder(kind schema.GroupKind) bool {
	return isNamespace(kind) || kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} || kind == schema.GroupKind{Kind: "PersistentVolume"}
}

// heldData returns what a claim or a volume holds; empty if it was never bound.
func heldData(object *unstructured.Unstructured) string {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		if volume, _, _ := unstructured.NestedString(object.Object, "spec", "volumeName"); volume != "" {
			return "data, in PersistentVolume " + volume
		}
	case schema.GroupKind{Kind: "PersistentVolume"}:
		claim, _, _ := unstructured.NestedStringMap(object.Object, "spec", "claimRef")
		if name, _, _ := unstructured.NestedString(object.Object, "spec", "claimRef", "name"); name != "" {
			return "the data of " + types.ObjectText(schema.GroupKind{Kind: "PersistentVolumeClaim"}, claim["namespace"], name)
		}
	}
	return ""
}

// keepsFromRecreation returns why an object must not be deleted in order to be created anew; empty if it may be. The object is the live one.
func (p *pass) keepsFromRecreation(ctx context.Context, item *InventoryItem, live *unstructured.Unstructured) (string, error) {
	held := heldData(live)
	if isNamespace(item.GroupVersionKind().GroupKind()) {
		// Its dependents would be destroyed as well.
		found, err := p.contentOf(ctx, item, false)
		if err != nil {
			return "", err
		}
		held = found.String()
	}
	if held == "" {
		return "", nil
	}
	return fmt.Sprintf("cannot be updated by its update policy recreate, because it holds %s, which would be destroyed; "+
		"choose another update policy, or remove what it holds", held), nil
}

// mayRecreate returns a *RefusedError if an object must not be deleted in order to be created anew. It asks to be called again if the object is not
// the one that was seen.
func (p *pass) mayRecreate(ctx context.Context, t *target, s situation) (again bool, err error) {
	if !isHolder(t.key.GroupKind) {
		return false, nil
	}
	item := p.item(t)
	live, err := p.get(ctx, item)
	if isGone(err) || err == nil && live.GetResourceVersion() != s.seen.ResourceVersion {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	reason, err := p.keepsFromRecreation(ctx, item, live)
	if err == nil && reason != "" {
		err = refused(fmt.Sprintf("%s: %s", t.key, reason))
	}
	return false, err
}

// mindHeld says whether an object must not be deleted in order to be created anew.
func (p *planner) mindHeld(ctx context.Context, change *Change, item *InventoryItem, live *unstructured.Unstructured) error {
	if !change.Recreate || live == nil || !isHolder(item.GroupVersionKind().GroupKind()) {
		return nil
	}
	reason, err := p.keepsFromRecreation(ctx, item, live)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", keyOf(item), err)
	}
	change.Refusal = reason
	return nil
}
