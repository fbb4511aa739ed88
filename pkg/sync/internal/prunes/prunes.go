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
	// Owner is whose objects are pruned.
	Owner Owner
	// Confirmed means that the deletion of objects that need approval is approved.
	Confirmed bool
	// Outside are items of objects that the operation leaves alone.
	Outside []*inventory.Item
}

// An Item is an object that is not wanted any more.
type Item struct {
	*inventory.Item
	// Kept says why the object is not pruned; empty if it is, once it is approved.
	Kept string

	stays string // says what is true of the object if it is not pruned now, because of itself; empty if it is
}

// Items returns the objects that are not wanted any more: live ones, and recorded ones. It does not change the recorded items.
func Items(live []*unstructured.Unstructured, recorded []*inventory.Item, options Options) []Item {
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
	items := make([]Item, 0, len(found))
	for _, c := range found {
		c.item.DeleteOrder = lastOrder - c.wave
		if !c.last {
			c.item.DeleteOrder = mirrored[c.wave]
		}
		item := Item{Item: c.item, stays: c.stays(options)}
		if c.item.PrunePolicy == inventory.PrunePolicyKeep {
			item.Kept = "kept because of its annotations"
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b Item) int { return types.IDOf(a).Compare(types.IDOf(b)) })
	nest(items, slices.SortedFunc(slices.Values(options.Outside), func(a, b *inventory.Item) int { return types.IDOf(a).Compare(types.IDOf(b)) }))
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
	// foreign means that the object belongs to another owner.
	foreign bool
}

// stays says what is true of a candidate that is not pruned now; empty if it is.
func (c *candidate) stays(options Options) string {
	switch {
	case c.item.PrunePolicy == inventory.PrunePolicyKeep:
		return "stays"
	case c.foreign:
		return "belongs to another owner"
	case c.item.PrunePolicy == inventory.PrunePolicyConfirm && !options.Confirmed:
		return "awaits approval"
	default:
		return ""
	}
}

// place is something that objects depend on: a namespace, or types as an item has them in ManagedTypes.
type place struct {
	namespace string
	defined   inventory.TypeVersionInfo
}

// placesOf returns what an object depends on.
func placesOf(inner *inventory.Item) []place {
	places := []place{
		{defined: inventory.TypeVersionInfo{Group: inner.Group, Version: all, Kind: inner.Kind}},
		{defined: inventory.TypeVersionInfo{Group: inner.Group, Version: inner.Version, Kind: all}},
	}
	if inner.Namespace != "" {
		places = append(places, place{namespace: inner.Namespace})
	}
	return places
}

// placesFrom returns what an object provides.
func placesFrom(outer *inventory.Item) []place {
	var places []place
	if outer.Group == "" && outer.Kind == "Namespace" {
		places = append(places, place{namespace: outer.Name})
	}
	for _, defined := range outer.ManagedTypes {
		places = append(places, place{defined: defined})
	}
	return places
}

// content says what depends on a place: when the last object is deleted, and why one is not.
type content struct {
	last int
	kept string
}

// nest has Namespaces and definitions of types go no earlier than what depends on them, whatever their own waves are, and stay if some of that stays, or is outside.
func nest(items []Item, outside []*inventory.Item) {
	contents := map[place]content{}
	add := func(inner *inventory.Item, stays string) {
		for _, place := range placesOf(inner) {
			known, exists := contents[place]
			if !exists || inner.DeleteOrder > known.last {
				known.last = inner.DeleteOrder
			}
			if known.kept == "" && stays != "" {
				known.kept = "kept because " + types.IDOf(inner).String() + ", which " + stays + ", depends on it"
			}
			contents[place] = known
		}
	}
	for _, item := range items {
		add(item.Item, item.stays)
	}
	for _, item := range outside {
		add(item, "stays")
	}
	for i := range items {
		outer := &items[i]
		for _, place := range placesFrom(outer.Item) {
			if inner, exists := contents[place]; exists {
				outer.DeleteOrder, outer.Kept = max(outer.DeleteOrder, inner.last), cmp.Or(outer.Kept, inner.kept)
			}
		}
	}
}

// all stands for all kinds of a group, or all versions of a type.
const all = "*"

// definedBy returns the types that an object defines; nil if it does not say that.
func definedBy(object *unstructured.Unstructured) []inventory.TypeVersionInfo {
	group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
	version, _, _ := unstructured.NestedString(object.Object, "spec", "version")
	switch of := object.GroupVersionKind().GroupKind(); {
	case of == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"} && kind != "":
		return []inventory.TypeVersionInfo{{Group: group, Version: all, Kind: kind}}
	case of == schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"} && version != "":
		return []inventory.TypeVersionInfo{{Group: group, Version: version, Kind: all}}
	default:
		return nil
	}
}

// take takes over what a live object says. An object whose annotations cannot be read is kept: they may be meant to protect it.
func (c *candidate) take(object *unstructured.Unstructured, options Options) {
	c.item.TypeVersionInfo, c.foreign = inventory.TypeVersionInfo(object.GroupVersionKind()), options.Owner.IsForeign(object)
	if defined := definedBy(object); defined != nil {
		c.item.ManagedTypes = defined
	}
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
	if gitops.IsKeptByHelm(given) {
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
