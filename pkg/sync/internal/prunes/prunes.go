// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prunes

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/helmhooks"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// lastOrder is the delete order of objects of wave 0 that are deleted when everything is applied.
const lastOrder = 20000

// Options say how objects are pruned.
type Options struct {
	// Propagation is what happens to the objects that a pruned object owns, unless its annotations say otherwise.
	Propagation metav1.DeletionPropagation
	// Last deletes all objects after everything is applied.
	Last bool
	// Outside are items of objects that the operation leaves alone.
	Outside []*inventory.Item
}

// Items returns the items of objects that are not wanted any more: of live objects, and of recorded ones. It does not change the recorded items.
func Items(live []*unstructured.Unstructured, recorded []*inventory.Item, options Options) []*inventory.Item {
	found := make(map[types.ObjectID]*candidate, len(live)+len(recorded))
	for _, item := range recorded {
		hook, wave := types.SplitOrder(item.ApplyOrder)
		if hook == "" {
			_, wave = gitops.PhaseOf(wave)
		}
		found[types.IDOf(item)] = &candidate{item: item.DeepCopy(), wave: min(max(wave, -gitops.MaxWave), gitops.MaxWave)}
	}
	for _, object := range live {
		id := types.IDOf(object)
		c := found[id]
		if c == nil {
			c = &candidate{item: ItemOf(object)}
			found[id] = c
		}
		c.take(object, options)
	}
	waves := map[int]bool{}
	for _, c := range found {
		if c.last = c.last || options.Last; !c.last {
			waves[c.wave] = true
		}
	}
	mirrored := mirror(slices.Sorted(maps.Keys(waves)))
	items := make([]*inventory.Item, 0, len(found))
	for _, c := range found {
		c.item.DeleteOrder = lastOrder - c.wave
		if !c.last {
			c.item.DeleteOrder = mirrored[c.wave]
		}
		items = append(items, c.item)
	}
	nest(items, live, options.Outside)
	slices.SortFunc(items, func(a, b *inventory.Item) int { return types.IDOf(a).Compare(types.IDOf(b)) })
	return items
}

// mirror maps each of the sorted waves to the one that is as far from the end.
func mirror(waves []int) map[int]int {
	mirrored := make(map[int]int, len(waves))
	for i, wave := range waves {
		mirrored[wave] = waves[len(waves)-1-i]
	}
	return mirrored
}

// candidate is an object that may be pruned.
type candidate struct {
	item *inventory.Item
	wave int
	last bool
}

// nest has items go no earlier than the live objects that would be deleted with them, whatever their own waves are, and stay if one of these stays, or is outside.
func nest(items []*inventory.Item, live []*unstructured.Unstructured, outside []*inventory.Item) {
	byID := make(map[types.ObjectID]*inventory.Item, len(items))
	for _, item := range items {
		byID[types.IDOf(item)] = item
	}
	for _, outer := range items {
		if !isNamespace(outer) && len(outer.ManagedTypes) == 0 {
			continue
		}
		for _, object := range live {
			if inner := byID[types.IDOf(object)]; Contains(outer, inner) {
				outlast(outer, inner)
			}
		}
		if slices.ContainsFunc(outside, func(inner *inventory.Item) bool { return Contains(outer, inner) }) {
			outer.PrunePolicy = inventory.PrunePolicyKeep
		}
	}
}

// outlast has an object go no earlier than one that would be deleted with it, and stay if that one stays.
func outlast(outer, inner *inventory.Item) {
	outer.DeleteOrder = max(outer.DeleteOrder, inner.DeleteOrder)
	if inner.PrunePolicy == inventory.PrunePolicyKeep {
		outer.PrunePolicy = inventory.PrunePolicyKeep
	}
}

func isNamespace(item *inventory.Item) bool { return item.Group == "" && item.Kind == "Namespace" }

// Contains reports whether an object would be deleted with another one: with its Namespace, or with the definition of its type.
func Contains(outer, inner *inventory.Item) bool {
	return isNamespace(outer) && inner.Namespace == outer.Name || slices.ContainsFunc(outer.ManagedTypes, func(defined inventory.TypeVersionInfo) bool {
		return defined.Group == inner.Group && (defined.Kind == inner.Kind || defined.Kind == all) && (defined.Version == inner.Version || defined.Version == all)
	})
}

// all stands for all kinds of a group, or all versions of a type.
const all = "*"

// definedBy returns the types that an object defines.
func definedBy(object *unstructured.Unstructured) []inventory.TypeVersionInfo {
	group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
	switch (schema.GroupKind{Group: object.GroupVersionKind().Group, Kind: object.GetKind()}) {
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		return []inventory.TypeVersionInfo{{Group: group, Version: all, Kind: kind}}
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		version, _, _ := unstructured.NestedString(object.Object, "spec", "version")
		return []inventory.TypeVersionInfo{{Group: group, Version: version, Kind: all}}
	default:
		return nil
	}
}

// take takes over what a live object says. An object whose annotations cannot be read is kept: they may be meant to protect it.
func (c *candidate) take(object *unstructured.Unstructured, options Options) {
	c.item.TypeVersionInfo, c.item.ManagedTypes = inventory.TypeVersionInfo(object.GroupVersionKind()), definedBy(object)
	c.item.DeletePropagation = cmp.Or(options.Propagation, metav1.DeletePropagationForeground)
	given := object.GetAnnotations()
	steering, err := gitops.Read(given)
	if err != nil {
		c.item.PrunePolicy = inventory.PrunePolicyKeep
		return
	}
	c.wave, c.last = steering.Wave, steering.Options.Get(gitops.PruneLast) == gitops.True
	// What an earlier operation has written into its annotations does not count.
	c.item.PrunePolicy = inventory.PrunePolicyDelete
	switch steering.Options.Get(gitops.Prune) {
	case gitops.False:
		c.item.PrunePolicy = inventory.PrunePolicyKeep
	case gitops.Confirm:
		c.item.PrunePolicy = inventory.PrunePolicyConfirm
	}
	if helmhooks.IsKept(given) {
		c.item.PrunePolicy = inventory.PrunePolicyKeep
	}
	if propagation, set := steering.Options[gitops.PrunePropagationPolicy]; set {
		c.item.DeletePropagation = propagations[propagation]
	}
}

var propagations = map[string]metav1.DeletionPropagation{
	gitops.Foreground: metav1.DeletePropagationForeground, gitops.Background: metav1.DeletePropagationBackground, gitops.Orphan: metav1.DeletePropagationOrphan,
}

// ItemOf returns the item of an object that is not recorded.
func ItemOf(object *unstructured.Unstructured) *inventory.Item {
	return &inventory.Item{
		TypeVersionInfo: inventory.TypeVersionInfo(object.GroupVersionKind()), NameInfo: inventory.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		AdoptionPolicy: inventory.AdoptionPolicyAlways, ReconcilePolicy: inventory.ReconcilePolicyOnObjectChange, UpdatePolicy: inventory.UpdatePolicySsaMerge,
		DeletePolicy: inventory.DeletePolicyDelete, Phase: inventory.PhaseReady, UID: object.GetUID(), Digest: "live",
	}
}
