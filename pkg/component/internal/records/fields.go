// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// recordField is the field of the status that may take the place of the list.
const recordField = "inventoryRecord"

// Fields are the fields of a status that record the inventory.
type Fields struct {
	Inventory          *[]*reconciler.InventoryItem
	Record             **inventory.Record
	DeletionHooks      **inventory.DeletionHooks
	Digest             *string
	ObservedGeneration *int64
}

// isEmpty reports whether the status records no dependents.
func (f Fields) isEmpty() bool { return len(*f.Inventory) == 0 && !f.hasRecord() }

// Unlisted returns the kinds that may have unrecorded dependents, because they could not be listed during a rebuild.
func (f Fields) Unlisted() []reconciler.TypeInfo {
	record := *f.Record
	if record == nil {
		return nil
	}
	kinds := make([]reconciler.TypeInfo, len(record.Unlisted))
	for i, kind := range record.Unlisted {
		kinds[i] = reconciler.TypeInfo(kind)
	}
	return kinds
}

// setUnlisted replaces the kinds that may have unrecorded dependents.
func (f Fields) setUnlisted(kinds []reconciler.TypeInfo) {
	if len(kinds) == 0 && *f.Record == nil {
		return
	}
	changed := inventory.Record{Inline: true}
	if *f.Record != nil {
		changed = **f.Record
	}
	changed.Unlisted = unlistedKinds(kinds)
	*f.Record = &changed
}

func unlistedKinds(kinds []reconciler.TypeInfo) []inventory.UnlistedKind {
	var unlisted []inventory.UnlistedKind
	for _, kind := range kinds {
		unlisted = append(unlisted, inventory.UnlistedKind(kind))
	}
	return unlisted
}

// KindTexts formats kinds for messages.
func KindTexts(kinds []reconciler.TypeInfo) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = schema.GroupKind(kind).String()
	}
	return outcomes.Join(names, ", ")
}

// hasRecord reports whether the inventory is in the record, packed or in chunks, rather than in the list.
func (f Fields) hasRecord() bool { return *f.Record != nil && !(*f.Record).Inline }

func (f Fields) isPacked() bool { return f.hasRecord() && len((*f.Record).Content) > 0 }

// chunkNamespace returns the namespace that has, or had, chunks; empty if there is none.
func (f Fields) chunkNamespace() string {
	if *f.Record == nil {
		return ""
	}
	return (*f.Record).Namespace
}

// maxCompleted is the maximum number of purged dependents that the status records.
const maxCompleted = 100

// newRecord returns the record of a list of items.
func newRecord(list chunks.List, items []*reconciler.InventoryItem) *inventory.Record {
	return &inventory.Record{Items: list.Items, Checksum: list.Checksum, Content: list.Packed, Chunks: list.Chunks, Kinds: Kinds(items)}
}

// refer returns a record that refers to the chunks of a list.
func (f Fields) refer(list chunks.List) *inventory.Record {
	reference := newRecord(list, *f.Inventory)
	reference.Unlisted = unlistedKinds(f.Unlisted())
	for _, item := range *f.Inventory {
		if item.Phase == reconciler.PhaseCompleted && len(reference.Completed) < maxCompleted {
			reference.Completed = append(reference.Completed, inventory.CompletedDependent{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo, Digest: item.Digest})
		}
	}
	return reference
}

// completed returns the purged dependents of a record as items.
func completed(record *inventory.Record) []*reconciler.InventoryItem {
	list := make([]*reconciler.InventoryItem, len(record.Completed))
	for i, completed := range record.Completed {
		list[i] = &reconciler.InventoryItem{
			TypeVersionInfo: completed.TypeVersionInfo, NameInfo: completed.NameInfo, Digest: completed.Digest, Phase: reconciler.PhaseCompleted,
		}
	}
	return list
}

// lists returns the item lists of the status.
func (f Fields) lists() []*[]*reconciler.InventoryItem {
	lists := []*[]*reconciler.InventoryItem{f.Inventory}
	if hooks := *f.DeletionHooks; hooks != nil {
		lists = append(lists, &hooks.Inventory)
	}
	return lists
}
