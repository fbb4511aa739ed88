// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Departing is an owner whose objects are about to go.
type Departing struct {
	// Label is the value of the owner label of its objects.
	Label string
	Items []*inventory.Item
}

// Losses finds out what the deletion of an owner's dependents would destroy.
type Losses struct {
	Server *execute.Server
	Owner  decide.Owner
	// Configured are the additional managed types of the reconciler's options.
	Configured []inventory.TypeInfo
	Memory     decide.OwnerMemory
	Items      []*inventory.Item // of the owner
	// Departing are other owners whose objects are about to go, and do not count as instances that others have.
	Departing []Departing
	// Remaining returns the items that are still recorded.
	Remaining func() []*inventory.Item

	staying sync.Map // redundant items whose objects stay
}

// Stay notes that a redundant object is not deleted although others are. It is safe for concurrent use.
func (l *Losses) Stay(item *inventory.Item) { l.staying.Store(item, true) }

// Leave notes that a redundant object does not stay, or is gone.
func (l *Losses) Leave(item *inventory.Item) { l.staying.Delete(item) }

// Retains reports whether the deletion of an object would delete redundant objects that stay: the object is their
// namespace, or defines their type. It makes no request, and is safe for concurrent use.
func (l *Losses) Retains(item *inventory.Item) bool {
	isNamespace := prepare.IsNamespace(item.GroupVersionKind().GroupKind())
	if !isNamespace && len(item.ManagedTypes) == 0 {
		return false
	}
	retains := false
	l.staying.Range(func(key, _ any) bool {
		other, _ := key.(*inventory.Item)
		isInstance := slices.ContainsFunc(item.ManagedTypes, func(defined inventory.TypeVersionInfo) bool {
			return prepare.Matches(defined, other.GroupVersionKind())
		})
		retains = other != item && (isInstance || isNamespace && other.Namespace == item.Name)
		return !retains
	})
	return retains
}

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

// claims says why an object must not be recreated that owns claims or (if it is cluster-scoped) volumes with data, which
// garbage collection would delete; empty if it may be. Controllers of custom resources may give them to their objects
// through others, so for a custom resource, all owned claims count. Where listing is forbidden, it relies on what
// Kubernetes itself does: of its own kinds, only StatefulSets own claims. Live is the object; it is needed for
// StatefulSets.
func (l *Losses) claims(ctx context.Context, item *inventory.Item, uid apitypes.UID, live *unstructured.Unstructured) (string, error) {
	kind := item.GroupVersionKind().GroupKind()
	custom, held := !isKubernetes(kind.Group), []string{"PersistentVolumeClaim"}
	if item.Namespace == "" {
		if !custom {
			return "", nil // no cluster-scoped kind of Kubernetes owns claims
		}
		held = append(held, "PersistentVolume")
	}
	found, unknown, err := l.ownedClaims(ctx, held, item.Namespace, func(claim metav1.Object) bool { return isOwnedBy(claim, uid, custom) })
	switch {
	case err != nil:
		return "", err
	case len(found) > 0:
		slices.Sort(found)
		remedy := "remove its owner references from the claims"
		if isStatefulSet(kind) {
			remedy = "first set spec.persistentVolumeClaimRetentionPolicy.whenDeleted of the object in the cluster to Retain"
		}
		names := content{objects: found[:min(len(found), namedContent)], more: len(found) > namedContent}
		return notRecreated(fmt.Sprintf("it may hold the data of %s, which would be destroyed", names), remedy), nil
	case len(unknown) > 0 && (custom || deletesClaims(live)):
		return notRecreated("it may own claims whose data would be destroyed, and reading "+strings.Join(unknown, ", ")+" is forbidden", "grant the permission"), nil
	default:
		return "", nil
	}
}

// ownedClaims returns the claims or volumes with data in a namespace that are owned, and what must not be listed.
func (l *Losses) ownedClaims(ctx context.Context, kinds []string, namespace string, isOwned func(metav1.Object) bool) (found, unknown []string, err error) {
	for _, name := range kinds {
		err := l.Server.Each(ctx, l.Server.Client, schema.GroupVersionKind{Version: "v1", Kind: name}, true, func(object client.Object) (bool, error) {
			if claim, ok := object.(*unstructured.Unstructured); ok && claim.GetDeletionTimestamp() == nil && heldData(claim) != "" && isOwned(claim) {
				found = append(found, types.ObjectText(claim.GroupVersionKind().GroupKind(), claim.GetNamespace(), claim.GetName()))
			}
			return true, nil
		}, client.InNamespace(namespace))
		switch {
		case execute.IsGone(err): // the server has no volumes
		case apierrors.IsForbidden(err):
			unknown = append(unknown, inNamespace(name+"s", namespace))
		case err != nil:
			return nil, nil, fmt.Errorf("listing %s: %w", inNamespace(name+"s", namespace), err)
		}
	}
	return found, unknown, nil
}

// isOwnedBy reports whether an object is owned by the root or, if that is a custom resource, by anything. Ephemeral
// volumes do not count, whose data is meant to be deleted with their Pod. Garbage collection may spare the object if it
// has further owners.
func isOwnedBy(object metav1.Object, root apitypes.UID, custom bool) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		isEphemeral := owner.Kind == "Pod" && owner.Controller != nil && *owner.Controller
		return !isEphemeral && (custom || owner.UID == root)
	})
}

func inNamespace(objects, namespace string) string {
	if namespace == "" {
		return objects
	}
	return objects + " in namespace " + namespace
}

// isKubernetes reports whether an API group is one of Kubernetes itself.
func isKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

func isStatefulSet(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
}

// deletesClaims reports whether an object is a StatefulSet whose claims are deleted with it.
func deletesClaims(live *unstructured.Unstructured) bool {
	if live == nil || !isStatefulSet(live.GroupVersionKind().GroupKind()) {
		return false
	}
	templates, _, _ := unstructured.NestedSlice(live.Object, "spec", "volumeClaimTemplates")
	policy, _, _ := unstructured.NestedString(live.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
	return len(templates) > 0 && policy == "Delete"
}
