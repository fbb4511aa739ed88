// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// isHolder reports whether objects of the kind hold content that is lost when they are recreated, even if they do not
// own it. Objects that define types do so too; requestEnd checks their instances before any deletion.
func isHolder(kind schema.GroupKind) bool {
	return prepare.IsNamespace(kind) || kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} || kind == schema.GroupKind{Kind: "PersistentVolume"}
}

// heldData says which data a claim or volume holds; empty if it was never bound.
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

// KeepsFromRecreation says why the object with the UID must not be recreated; empty if it may be. Live is the object;
// it is needed if DependsOnContent reports so.
func (l *Losses) KeepsFromRecreation(ctx context.Context, item *inventory.Item, uid apitypes.UID, live *unstructured.Unstructured) (string, error) {
	kind := item.GroupVersionKind().GroupKind()
	var held string
	switch {
	case prepare.IsNamespace(kind):
		// Its dependents would be destroyed as well.
		found, err := l.contentOf(ctx, item, false)
		if err != nil {
			return "", err
		}
		held = found.String()
	case prepare.DefinesTypes(kind):
		defined, err := l.DefinedBy(ctx, item)
		if err != nil {
			return "", err
		}
		blockers, err := l.Instances(ctx, defined, "")
		if apierrors.IsForbidden(err) {
			return notRecreated("it is not known whether there are instances of its types: "+err.Error(), "grant the permission"), nil
		}
		if err != nil || len(blockers) == 0 {
			return "", err
		}
		return HeldByInstances(Texts(blockers)), nil
	case isHolder(kind):
		held = heldData(live)
	default:
		return l.claims(ctx, item, uid, live)
	}
	if held == "" {
		return "", nil
	}
	return notRecreated("it holds "+held+", which would be destroyed", "move or delete its contents first"), nil
}

// HeldByInstances says why an object that defines types must not be recreated. Instances of the owner count too,
// because they would be lost.
func HeldByInstances(instances string) string {
	return notRecreated("there are instances of its types: "+instances, "delete them first")
}

// notRecreated says why an object must not be recreated, and what the user can do about it.
func notRecreated(reason, remedy string) string {
	return fmt.Sprintf("cannot be recreated, because %s; use another update policy, remove the annotation recreate-if-immutable, or %s", reason, remedy)
}

// DependsOnContent reports whether KeepsFromRecreation needs the object itself.
func DependsOnContent(kind schema.GroupKind) bool { return isHolder(kind) || isStatefulSet(kind) }
