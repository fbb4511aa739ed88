// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/types"
)

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
