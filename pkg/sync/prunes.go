// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

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

// pruneOptions say how objects are pruned.
type pruneOptions struct {
	// Propagation is what happens to the objects that a pruned object owns, unless its annotations say otherwise.
	Propagation metav1.DeletionPropagation
	// Last deletes all objects after everything is applied.
	Last bool
	// Owner is the ID of the owner whose objects are pruned.
	Owner string
	// Confirmed means that the deletion of objects that need approval is approved.
	Confirmed bool
	// Outside are items of objects that the operation leaves alone.
	Outside []*inventory.Item
}

// A pruneItem is an object that is not wanted any more.
type pruneItem struct {
	*inventory.Item
	// Kept says why the object is not pruned; empty if it is, once it is approved.
	Kept string

	stays string // says what is true of the object if it is not pruned now, because of itself; empty if it is
}

// itemsToPrune returns the objects that are not wanted any more: live ones, and recorded ones. It does not change the
// recorded items.
//
// Objects are deleted in the reverse order of their waves, between the waves of what is applied: waves with such
// objects swap numbers, the first with the last, and so on. If waves 1, 3 and 4 have such objects, those of wave 4 are
// deleted before wave 1 is applied, those of wave 3 before wave 3, and those of wave 1 before wave 4. Objects with
// PruneLast come after everything is applied, also in reverse order.
func itemsToPrune(live []*unstructured.Unstructured, recorded []*inventory.Item, options pruneOptions) []pruneItem {
	found := make(map[types.ObjectID]*pruneCandidate, len(live)+len(recorded))
	for _, item := range recorded {
		hook, wave := types.SplitOrder(item.ApplyOrder)
		if hook == "" {
			_, wave = gitops.PhaseOf(wave)
		}
		found[types.IDOf(item)] = &pruneCandidate{item: item.DeepCopy(), wave: min(max(wave, -gitops.MaxWave), gitops.MaxWave)}
	}
	for _, object := range live {
		id := types.IDOf(object)
		c := found[id]
		if c == nil {
			c = &pruneCandidate{item: itemOf(object)}
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
	items := make([]pruneItem, 0, len(found))
	for _, c := range found {
		c.item.DeleteOrder = lastOrder - c.wave
		if !c.last {
			c.item.DeleteOrder = mirrored[c.wave]
		}
		item := pruneItem{Item: c.item, stays: c.stays(options)}
		if c.item.PrunePolicy == inventory.PrunePolicyKeep {
			item.Kept = "kept because of its annotations"
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b pruneItem) int { return types.IDOf(a).Compare(types.IDOf(b)) })
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
type pruneCandidate struct {
	item *inventory.Item
	wave int
	last bool
	// foreign means that the object belongs to another owner.
	foreign bool
}

// stays says what is true of a candidate that is not pruned now; empty if it is.
func (c *pruneCandidate) stays(options pruneOptions) string {
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
type servedPlace struct {
	namespace string
	defined   inventory.TypeVersionInfo
}

// servedPlacesOf returns what an object depends on.
func servedPlacesOf(inner *inventory.Item) []servedPlace {
	places := []servedPlace{
		{defined: inventory.TypeVersionInfo{Group: inner.Group, Version: allVersions, Kind: inner.Kind}},
		{defined: inventory.TypeVersionInfo{Group: inner.Group, Version: inner.Version, Kind: allVersions}},
	}
	if inner.Namespace != "" {
		places = append(places, servedPlace{namespace: inner.Namespace})
	}
	return places
}

// servedPlacesFrom returns what an object provides.
func servedPlacesFrom(outer *inventory.Item) []servedPlace {
	var places []servedPlace
	if outer.Group == "" && outer.Kind == "Namespace" {
		places = append(places, servedPlace{namespace: outer.Name})
	}
	for _, defined := range outer.ManagedTypes {
		places = append(places, servedPlace{defined: defined})
	}
	return places
}

// content says what depends on a place: when the last object is deleted, and why one is not.
type contentOf struct {
	last int
	kept string
}

// nest has Namespaces and definitions of types go no earlier than what depends on them, whatever their own waves are,
// and stay if some of that stays, or is outside.
func nest(items []pruneItem, outside []*inventory.Item) {
	contents := map[servedPlace]contentOf{}
	add := func(inner *inventory.Item, stays string) {
		for _, place := range servedPlacesOf(inner) {
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
		for _, place := range servedPlacesFrom(outer.Item) {
			if inner, exists := contents[place]; exists {
				outer.DeleteOrder, outer.Kept = max(outer.DeleteOrder, inner.last), cmp.Or(outer.Kept, inner.kept)
			}
		}
	}
}

// all stands for all kinds of a group, or all versions of a type.
const allVersions = "*"

// definedBy returns the types that an object defines; nil if it does not say that.
func definedBy(object *unstructured.Unstructured) []inventory.TypeVersionInfo {
	group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
	version, _, _ := unstructured.NestedString(object.Object, "spec", "version")
	switch of := object.GroupVersionKind().GroupKind(); {
	case of == definitions && kind != "":
		return []inventory.TypeVersionInfo{{Group: group, Version: allVersions, Kind: kind}}
	case of == schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"} && version != "":
		return []inventory.TypeVersionInfo{{Group: group, Version: version, Kind: allVersions}}
	default:
		return nil
	}
}

// take takes over what a live object says. An object whose annotations cannot be read is kept: they may be meant to
// protect it.
func (c *pruneCandidate) take(object *unstructured.Unstructured, options pruneOptions) {
	c.item.TypeVersionInfo, c.foreign = inventory.TypeVersionInfo(object.GroupVersionKind()), isForeign(object, options.Owner)
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
	// Annotations of an earlier operation do not count.
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

// itemOf returns the item of an object that is not recorded.
func itemOf(object *unstructured.Unstructured) *inventory.Item {
	return &inventory.Item{
		TypeVersionInfo: inventory.TypeVersionInfo(object.GroupVersionKind()), NameInfo: inventory.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		AdoptionPolicy: inventory.AdoptionPolicyAlways, ReconcilePolicy: inventory.ReconcilePolicyOnObjectChange, UpdatePolicy: inventory.UpdatePolicySsaMerge,
		DeletePolicy: inventory.DeletePolicyDelete, Phase: inventory.PhaseReady, UID: object.GetUID(), Digest: "live",
	}
}
