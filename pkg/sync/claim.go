// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// ownerLabel and ownerAnnotation mark dependents.
	ownerLabel      = Name + "/" + types.LabelKeySuffixOwnerId
	ownerAnnotation = Name + "/" + types.AnnotationKeySuffixOwnerId
	// concurrency is the number of objects that are marked at the same time.
	concurrency = 16
	// attempts is the maximum number of writes of an object that others keep changing.
	attempts = 5
)

// isForeign reports whether an object is a dependent of another owner than the one with the ID.
func isForeign(object client.Object, owner string) bool {
	mark := object.GetLabels()[ownerLabel]
	return mark != "" && mark != manifest.OwnerLabel(owner)
}

// claim makes obsolete objects dependents, so that the engine deletes them, and returns the results of the kept ones.
func (c *syncContext) claim(ctx context.Context, w *work) ([]ResourceSyncResult, error) {
	settled := c.skipped(w)
	err := concurrent.Each(concurrency, w.strays, func(_ int, object *unstructured.Unstructured) error { return c.letGo(ctx, object) })
	if err != nil {
		return nil, err
	}
	ids := sortedIDs(w.pruned)
	claims := make([]ResourceSyncResult, len(ids)) // only Status and Message
	err = concurrent.Each(concurrency, ids, func(i int, id types.ObjectID) (err error) {
		if live := w.obsolete[id]; live != nil && !c.terminating() {
			claims[i].Status, claims[i].Message, err = c.mark(ctx, live)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.terminating() {
		return nil, errTerminated
	}
	for i, id := range ids {
		if claims[i].Status == "" {
			continue // it is a dependent now, or it is recorded, and not looked at
		}
		item := w.pruned[id]
		settled = append(settled, resultOf(item, claims[i].Status, claims[i].Message))
		delete(w.pruned, id)
		w.request.Inventory = slices.DeleteFunc(w.request.Inventory, func(other *inventory.Item) bool { return other == item })
	}
	slices.SortFunc(settled, func(a, b ResourceSyncResult) int { return a.ResourceKey.id().Compare(b.ResourceKey.id()) })
	return settled, nil
}

// mark makes a live object a dependent, so that the engine deletes it. If it must not be deleted, mark returns the
// status and the message of its result. The caller must know that the object belongs to the owner.
func (c *syncContext) mark(ctx context.Context, live *unstructured.Unstructured) (status ResultCode, message string, err error) {
	exists, err := c.patchMetadata(ctx, live, func(object *metav1.PartialObjectMetadata) map[string]any {
		status, message = "", ""
		switch {
		case isForeign(object, c.owner):
			status, message = ResultCodePruneSkipped, foreignText
		case object.GetLabels()[ownerLabel] == "":
			return map[string]any{"labels": map[string]any{ownerLabel: manifest.OwnerLabel(c.owner)}, "annotations": map[string]any{ownerAnnotation: c.owner}}
		}
		return nil
	})
	switch {
	case err != nil:
		return "", "", fmt.Errorf("marking %s for pruning: %w", types.IDOf(live), err)
	case !exists:
		return ResultCodePruned, goneText, nil
	default:
		return status, message, nil
	}
}

// letGo removes the finalizer that keeps an object until its outcome is recorded, and that of Argo CD, if the object
// has any and belongs to no other owner. Otherwise it makes no request.
func (c *syncContext) letGo(ctx context.Context, live *unstructured.Unstructured) error {
	set := annotations.Finalizers{Outcome: annotations.OutcomeFinalizer(Name), Former: []string{gitops.HookFinalizer}}
	_, err := c.patchMetadata(ctx, live, func(object *metav1.PartialObjectMetadata) map[string]any {
		if isForeign(object, c.owner) || !set.On(object.GetFinalizers()) {
			return nil
		}
		return map[string]any{"finalizers": set.Without(object.GetFinalizers())}
	})
	if err != nil {
		return fmt.Errorf("removing the finalizer of %s: %w", types.IDOf(live), err)
	}
	return nil
}

// patchMetadata patches the metadata of an object with the result of change, which is called again when others have
// changed the object. It reports false if the object no longer exists, or another one has its name. An invalid object,
// which nobody can change, is left as it is: the engine reports why it does not delete it.
func (c *syncContext) patchMetadata(
	ctx context.Context, live *unstructured.Unstructured, change func(object *metav1.PartialObjectMetadata) map[string]any,
) (exists bool, err error) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: live.GetNamespace(), Name: live.GetName(), UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(), Labels: live.GetLabels(),
		Finalizers: live.GetFinalizers(),
	}}
	object.SetGroupVersionKind(live.GroupVersionKind())
	for range attempts {
		if object.GetUID() != live.GetUID() {
			return false, nil
		}
		metadata := change(object)
		if metadata == nil {
			return true, nil
		}
		patch, failure := apiserver.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{"metadata": metadata})
		if failure != nil {
			return false, failure
		}
		if err = c.client.Patch(ctx, object, patch, client.FieldOwner(cmp.Or(c.manager, Name))); err == nil {
			return true, nil
		}
		if !apiserver.IsOutdated(err) && !apierrors.IsInvalid(err) {
			break
		}
		if failure := c.client.Get(ctx, client.ObjectKeyFromObject(live), object); failure != nil {
			err = failure
			break
		}
	}
	if apierrors.IsInvalid(err) {
		return true, nil
	}
	return false, client.IgnoreNotFound(err)
}

// lastOrder is the delete order of objects of wave 0 that are deleted after everything is applied.
const lastOrder = 20000

// pruneOptions configure how objects are pruned.
type pruneOptions struct {
	// Propagation determines what happens to the objects that a pruned object owns, unless its annotations override it.
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

// A pruneItem is an object that has been removed from the manifests.
type pruneItem struct {
	*inventory.Item
	// Kept is why the object is not pruned; empty if it is pruned, perhaps after an approval.
	Kept string

	wave int
	last bool // it is deleted after everything is applied
	// foreign means that the object belongs to another owner.
	foreign bool
}

// itemsToPrune returns the objects that are no longer declared: live ones, and recorded ones. It does not change the
// recorded items.
//
// Objects are deleted in the reverse order of their waves, between the waves of applied objects: waves with obsolete
// objects swap numbers, the first with the last, and so on. If waves 1, 3 and 4 have such objects, those of wave 4 are
// deleted before wave 1 is applied, those of wave 3 before wave 3, and those of wave 1 before wave 4. Objects with
// PruneLast come after everything is applied, also in reverse order.
func itemsToPrune(live []*unstructured.Unstructured, recorded []*inventory.Item, options pruneOptions) []*pruneItem {
	found := make(map[types.ObjectID]*pruneItem, len(live)+len(recorded))
	for _, item := range recorded {
		hook, wave := types.SplitOrder(item.ApplyOrder)
		if hook == "" {
			_, wave = gitops.PhaseOf(wave)
		}
		found[types.IDOf(item)] = &pruneItem{Item: item.DeepCopy(), wave: min(max(wave, -gitops.MaxWave), gitops.MaxWave)}
	}
	for _, object := range live {
		id := types.IDOf(object)
		if found[id] == nil {
			found[id] = &pruneItem{Item: itemOf(object)}
		}
		found[id].take(object, options)
	}
	waves := map[int]bool{}
	for _, item := range found {
		if item.last = item.last || options.Last; !item.last {
			waves[item.wave] = true
		}
	}
	mirrored, sorted := map[int]int{}, slices.Sorted(maps.Keys(waves))
	for i, wave := range sorted {
		mirrored[wave] = sorted[len(sorted)-1-i]
	}
	var items []*pruneItem
	for _, id := range sortedIDs(found) {
		item := found[id]
		item.DeleteOrder = lastOrder - item.wave
		if !item.last {
			item.DeleteOrder = mirrored[item.wave]
		}
		if item.PrunePolicy == inventory.PrunePolicyKeep {
			item.Kept = "kept because of its annotations"
		}
		items = append(items, item)
	}
	nest(items, options)
	return items
}

// stays returns the predicate, for messages, of an object that is not pruned now for reasons of its own; empty if it is
// pruned.
func (i *pruneItem) stays(options pruneOptions) string {
	switch {
	case i.PrunePolicy == inventory.PrunePolicyKeep:
		return "stays"
	case i.foreign:
		return foreignText
	case i.PrunePolicy == inventory.PrunePolicyConfirm && !options.Confirmed:
		return "awaits approval"
	default:
		return ""
	}
}

// servedPlace is something that objects depend on: a namespace, or types in the form of an item's ManagedTypes.
type servedPlace struct {
	namespace string
	defined   inventory.TypeVersionInfo
}

// servedPlacesOf returns the places that an object depends on.
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

// servedPlacesFrom returns the places that an object provides.
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

// contentOf describes the objects that depend on a place: the delete order of the last one, and why one of them is
// kept.
type contentOf struct {
	last int
	kept string
}

// nest makes Namespaces and definitions of types be deleted no earlier than the objects that depend on them, in spite
// of their own waves, and be kept if any of these objects is kept or outside.
func nest(items []*pruneItem, options pruneOptions) {
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
		add(item.Item, item.stays(options))
	}
	outside := slices.Clone(options.Outside)
	slices.SortFunc(outside, func(a, b *inventory.Item) int { return types.IDOf(a).Compare(types.IDOf(b)) })
	for _, item := range outside {
		add(item, "stays")
	}
	for _, outer := range items {
		for _, place := range servedPlacesFrom(outer.Item) {
			if inner, exists := contents[place]; exists {
				outer.DeleteOrder, outer.Kept = max(outer.DeleteOrder, inner.last), cmp.Or(outer.Kept, inner.kept)
			}
		}
	}
}

// allVersions stands for all versions of a type, or all kinds of a group version.
const allVersions = "*"

// definedBy returns the types that an object defines; nil if there are none.
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

// take updates the item from the live object. An object with invalid annotations is kept: they may be meant to protect
// it.
func (i *pruneItem) take(object *unstructured.Unstructured, options pruneOptions) {
	i.TypeVersionInfo, i.foreign = inventory.TypeVersionInfo(object.GroupVersionKind()), isForeign(object, options.Owner)
	if defined := definedBy(object); defined != nil {
		i.ManagedTypes = defined
	}
	i.DeletePropagation = cmp.Or(options.Propagation, metav1.DeletePropagationForeground)
	given := object.GetAnnotations()
	steering, err := gitops.Read(given)
	if err != nil {
		i.PrunePolicy = inventory.PrunePolicyKeep
		return
	}
	i.wave, i.last = steering.Wave, steering.Options.Get(gitops.PruneLast) == gitops.True
	// Annotations of an earlier operation do not count.
	i.PrunePolicy = inventory.PrunePolicyDelete
	switch prune := steering.Options.Get(gitops.Prune); {
	case prune == gitops.False || gitops.IsKeptByHelm(given):
		i.PrunePolicy = inventory.PrunePolicyKeep
	case prune == gitops.Confirm:
		i.PrunePolicy = inventory.PrunePolicyConfirm
	}
	if propagation, set := steering.Options[gitops.PrunePropagationPolicy]; set {
		i.DeletePropagation = propagations[propagation]
	}
}

var propagations = map[string]metav1.DeletionPropagation{
	gitops.Foreground: metav1.DeletePropagationForeground, gitops.Background: metav1.DeletePropagationBackground, gitops.Orphan: metav1.DeletePropagationOrphan,
}

// itemOf returns an item for an unrecorded object.
func itemOf(object *unstructured.Unstructured) *inventory.Item {
	return &inventory.Item{
		TypeVersionInfo: inventory.TypeVersionInfo(object.GroupVersionKind()), NameInfo: inventory.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		AdoptionPolicy: inventory.AdoptionPolicyAlways, ReconcilePolicy: inventory.ReconcilePolicyOnObjectChange, UpdatePolicy: inventory.UpdatePolicySsaMerge,
		DeletePolicy: inventory.DeletePolicyDelete, Phase: inventory.PhaseReady, UID: object.GetUID(), Digest: "live",
	}
}
