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

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/types"
)

// ownedClaims are the claims and volumes with data that garbage collection would delete after an object, because the
// object owns them directly or indirectly.
type ownedClaims struct {
	objects []string // sorted
	unknown []string // objects that would have to be read, which is forbidden; sorted
}

// keepFromRecreation says why an object of the kind must not be recreated; empty if it may be.
func (c ownedClaims) keepFromRecreation(kind schema.GroupKind) string {
	switch {
	case len(c.objects) > 0:
		names, remedy := strings.Join(c.objects, ", "), "remove its owner references from the claims"
		if len(c.objects) > namedContent {
			names = strings.Join(c.objects[:namedContent], ", ") + " and more"
		}
		if isStatefulSet(kind) {
			remedy = "first set spec.persistentVolumeClaimRetentionPolicy.whenDeleted of the object in the cluster to Retain"
		}
		return notRecreated("it holds the data of "+names+", which would be destroyed", remedy)
	case len(c.unknown) > 0:
		return notRecreated("it may own claims whose data would be destroyed, and reading "+strings.Join(c.unknown, ", ")+" is forbidden", "grant the permission")
	default:
		return ""
	}
}

// claimsOf finds the claims (and, if the object is cluster-scoped, the volumes) that would be deleted with an object.
// Where listing them is forbidden, it relies on what Kubernetes itself does: of its own kinds, only StatefulSets own
// claims. Live is the object; it is needed for StatefulSets.
func (l *Losses) claimsOf(ctx context.Context, item *inventory.Item, uid apitypes.UID, live *unstructured.Unstructured) (ownedClaims, error) {
	kind := item.GroupVersionKind().GroupKind()
	search := claimSearch{losses: l, root: uid, custom: !isKubernetes(kind.Group), leads: map[apitypes.UID]bool{}}
	held := []string{"PersistentVolumeClaim"}
	if item.Namespace == "" {
		if !search.custom {
			return ownedClaims{}, nil // no cluster-scoped kind of Kubernetes owns claims
		}
		held = append(held, "PersistentVolume")
	}
	for _, kind := range held {
		if err := search.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: kind}, item.Namespace); err != nil {
			return ownedClaims{}, err
		}
	}
	if !search.custom && !deletesClaims(live) {
		search.found.unknown = nil
	}
	slices.Sort(search.found.objects)
	slices.Sort(search.found.unknown)
	search.found.unknown = slices.Compact(search.found.unknown)
	return search.found, nil
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

// claimSearch is one search for the claims that an object owns.
type claimSearch struct {
	losses *Losses
	root   apitypes.UID          // of the object
	custom bool                  // the object may own claims indirectly; objects of Kubernetes' own kinds own only ephemeral claims of Pods so
	leads  map[apitypes.UID]bool // whether an object is owned by the root, by its UID
	found  ownedClaims
}

// list searches the claims, or volumes, of a namespace; of all namespaces if it is empty.
func (c *claimSearch) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	next := ""
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.losses.Server.Read(func() error {
			return c.losses.Server.Client.List(ctx, list, client.InNamespace(namespace), client.Limit(ListPage), client.Continue(next))
		})
		switch {
		case execute.IsGone(err):
			return nil // the server has no volumes
		case apierrors.IsForbidden(err):
			c.found.unknown = append(c.found.unknown, inNamespace(kind.Kind+"s", namespace))
			return nil
		case err != nil:
			return fmt.Errorf("listing %s: %w", inNamespace(kind.Kind+"s", namespace), err)
		}
		for i := range list.Items {
			if err := c.take(ctx, &list.Items[i]); err != nil {
				return err
			}
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

func inNamespace(objects, namespace string) string {
	if namespace == "" {
		return objects
	}
	return objects + " in namespace " + namespace
}

// take adds a claim or volume that has data and would be deleted with the root.
func (c *claimSearch) take(ctx context.Context, object *unstructured.Unstructured) error {
	if heldData(object) == "" || object.GetDeletionTimestamp() != nil {
		return nil
	}
	goes, err := c.owned(ctx, object)
	if err == nil && goes {
		c.found.objects = append(c.found.objects, types.ObjectText(object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()))
	}
	return err
}

// owned reports whether an object is owned by the root. Garbage collection may spare it if it has further owners, but
// owned does not rely on that.
func (c *claimSearch) owned(ctx context.Context, object metav1.Object) (bool, error) {
	for _, reference := range object.GetOwnerReferences() {
		if reference.Kind == "Pod" && reference.Controller != nil && *reference.Controller {
			continue // an ephemeral volume, whose data is meant to be deleted with the Pod
		}
		if reference.UID == c.root {
			return true, nil
		}
		if !c.custom {
			continue
		}
		if leads, err := c.leadsToRoot(ctx, reference, object.GetNamespace()); leads || err != nil {
			return leads, err
		}
	}
	return false, nil
}

// leadsToRoot reports whether the referenced owner is itself owned by the root.
func (c *claimSearch) leadsToRoot(ctx context.Context, reference metav1.OwnerReference, namespace string) (bool, error) {
	if leads, known := c.leads[reference.UID]; known {
		return leads, nil
	}
	c.leads[reference.UID] = false // owners may own each other
	owner := &metav1.PartialObjectMetadata{}
	kind := schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind)
	owner.SetGroupVersionKind(kind)
	namespaced, err := c.losses.Server.Client.IsObjectNamespaced(owner)
	if err == nil {
		key := client.ObjectKey{Name: reference.Name}
		if namespaced {
			key.Namespace = namespace
		}
		err = c.losses.Server.Read(func() error { return c.losses.Server.Client.Get(ctx, key, owner) })
	}
	switch {
	case execute.IsGone(err), cluster.IsNoMatch(err), err == nil && owner.UID != reference.UID:
		return false, nil // this owner does not exist, so it does not depend on the root
	case apierrors.IsForbidden(err):
		c.found.unknown = append(c.found.unknown, types.ObjectText(kind.GroupKind(), namespace, reference.Name))
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %s, which owns claims: %w", types.ObjectText(kind.GroupKind(), namespace, reference.Name), err)
	}
	leads, err := c.owned(ctx, owner)
	c.leads[reference.UID] = leads
	return leads, err
}
