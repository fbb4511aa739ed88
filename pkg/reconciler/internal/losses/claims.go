// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package losses

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
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/types"
)

// ownedClaims are the claims and volumes with data that garbage collection would delete after an object, because they are owned by it, directly or
// by way of what it owns.
type ownedClaims struct {
	objects []string // sorted
	unknown []string // what had to be read in order to know, and must not be; sorted
}

// keepFromRecreation says why an object of the kind must not be created anew; empty if it may be.
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
		return notRecreated("it may own claims whose data would be destroyed, and reading "+strings.Join(c.unknown, ", ")+" is forbidden", "have that allowed")
	default:
		return ""
	}
}

// claimsOf looks for the claims (and, if the object is not namespaced, the volumes) that would go with an object. Where they must not be
// listed, it is decided by what Kubernetes itself does: of its own kinds, only StatefulSets make claims their own. Live is the object; it
// is needed for StatefulSets.
func (l *Losses) claimsOf(ctx context.Context, item *inventory.Item, uid apitypes.UID, live *unstructured.Unstructured) (ownedClaims, error) {
	kind := item.GroupVersionKind().GroupKind()
	search := claimSearch{Losses: l, root: uid, custom: !isKubernetes(kind.Group), leads: map[apitypes.UID]bool{}}
	held := []string{"PersistentVolumeClaim"}
	if item.Namespace == "" {
		if !search.custom {
			return ownedClaims{}, nil // nothing that Kubernetes does makes them own a claim
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

// deletesClaims reports whether an object is a StatefulSet whose controller has its claims deleted with it.
func deletesClaims(live *unstructured.Unstructured) bool {
	if live == nil || !isStatefulSet(live.GroupVersionKind().GroupKind()) {
		return false
	}
	templates, _, _ := unstructured.NestedSlice(live.Object, "spec", "volumeClaimTemplates")
	policy, _, _ := unstructured.NestedString(live.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
	return len(templates) > 0 && policy == "Delete"
}

// claimSearch is one look for what an object owns.
type claimSearch struct {
	*Losses
	root   apitypes.UID          // of the object
	custom bool                  // the object may own things by way of what it owns; of Kubernetes' own kinds, only Pods and their ephemeral claims come that way
	leads  map[apitypes.UID]bool // whether an owner is owned by the root; by its UID
	found  ownedClaims
}

// list looks through the claims, or volumes, of a namespace; of all, if it is empty.
func (c *claimSearch) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	next := ""
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.Server.Read(func() error {
			return c.Server.Client.List(ctx, list, client.InNamespace(namespace), client.Limit(ListPage), client.Continue(next))
		})
		switch {
		case answers.IsGone(err):
			return nil // the server has no volumes
		case apierrors.IsForbidden(err):
			c.found.unknown = append(c.found.unknown, within(kind.Kind+"s", namespace))
			return nil
		case err != nil:
			return fmt.Errorf("listing %s: %w", within(kind.Kind+"s", namespace), err)
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

func within(objects, namespace string) string {
	if namespace == "" {
		return objects
	}
	return objects + " in namespace " + namespace
}

// take notes a claim or volume if it has data, and goes with the root.
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

// owned reports whether an object is owned by the root. If it has further owners, garbage collection may leave it; that is not relied upon.
func (c *claimSearch) owned(ctx context.Context, object metav1.Object) (bool, error) {
	for _, reference := range object.GetOwnerReferences() {
		if reference.Kind == "Pod" && reference.Controller != nil && *reference.Controller {
			continue // an ephemeral volume, whose data ends with the Pod by definition
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

// leadsToRoot reports whether an owner is owned by the root.
func (c *claimSearch) leadsToRoot(ctx context.Context, reference metav1.OwnerReference, namespace string) (bool, error) {
	if leads, known := c.leads[reference.UID]; known {
		return leads, nil
	}
	c.leads[reference.UID] = false // owners may own each other
	owner := &metav1.PartialObjectMetadata{}
	kind := schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind)
	owner.SetGroupVersionKind(kind)
	namespaced, err := c.Server.Client.IsObjectNamespaced(owner)
	if err == nil {
		key := client.ObjectKey{Name: reference.Name}
		if namespaced {
			key.Namespace = namespace
		}
		err = c.Server.Read(func() error { return c.Server.Client.Get(ctx, key, owner) })
	}
	switch {
	case answers.IsGone(err), cluster.IsNoMatch(err), err == nil && owner.UID != reference.UID:
		return false, nil // it goes, or stays, whatever becomes of the root
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
