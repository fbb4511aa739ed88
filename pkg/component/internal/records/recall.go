// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// recalled is an inventory that is not in the status.
type recalled struct {
	// checksum is that of the record; empty if the record is lost.
	checksum string
	items    []*reconciler.InventoryItem
	chunks   chunks.Handles
}

// Recall loads the inventory into the status in memory. It reads chunks once per process, and again after another client has written the status. If
// the record is lost or damaged, Gap says so, and the inventory must be rebuilt before anything depends on it.
func (r *Record) Recall(ctx context.Context) error {
	reference, known := *r.fields.Record, r.memory.recalled
	switch {
	case r.lost && r.options.Deleting && known != nil && known.checksum == "":
		*r.fields.Inventory, r.known = known.items, true
	case r.lost:
		r.gap = "the status was empty"
	case !r.fields.hasRecord():
		if r.gap = Mismatch(r.mark.inventory, *r.fields.Inventory); r.gap == "" {
			r.items, r.known = *r.fields.Inventory, true
			return nil
		}
	case known != nil && known.checksum == reference.Checksum && len(*r.fields.Inventory) == 0:
		*r.fields.Inventory, r.known = known.items, true
		r.items, r.chunks = known.items, known.chunks
		return nil
	default:
		if err := r.read(ctx, reference); err != nil {
			return err
		}
	}
	if r.gap == "" {
		return nil
	}
	// Items may be missing because another client has written a different status meanwhile.
	return r.handle.Rebase(ctx)
}

// recallNext makes the next pass start from the current inventory, although it is not recorded.
func (r *Record) recallNext() {
	r.memory.recalled = &recalled{items: *r.fields.Inventory, chunks: r.chunks}
	if r.fields.hasRecord() {
		r.memory.recalled.checksum = (*r.fields.Record).Checksum
	}
}

// read reads the inventory of a record. Only items that are certainly missing or damaged leave a gap.
func (r *Record) read(ctx context.Context, reference *inventory.Record) error {
	list := listOf(reference)
	if len(list.Chunks) > 0 {
		if err := r.stores.CheckNamespace("status.inventoryRecord.namespace", reference.Namespace); err != nil {
			r.gap = "its record was damaged (" + err.Error() + ")"
			*r.fields.Inventory = chunks.ValidInventory(completed(reference))
			return nil
		}
	}
	found, err := r.stores.Of(chunks.ConfigMap).Load(ctx, list)
	if err != nil {
		return fmt.Errorf("reading the inventory: %w", err)
	}
	all := chunks.DecodeInventory(&found, list)
	r.chunks = found.Intact
	if len(found.Damage) > 0 {
		r.gap = "its record was damaged (" + outcomes.Join(found.Damage, "; ") + ")"
		*r.fields.Inventory = Union(chunks.ValidInventory(completed(reference)), all)
		return nil
	}
	r.known, r.items = true, all
	// An older version, which does not know chunks, may have written a list of its own.
	r.outdated = len(*r.fields.Inventory) > 0
	*r.fields.Inventory = Union(all, *r.fields.Inventory)
	if !r.outdated {
		r.memory.recalled = &recalled{checksum: reference.Checksum, items: *r.fields.Inventory, chunks: found.Intact}
	}
	return nil
}

// liveRecord reads the record from the server; nil if there is none.
func liveRecord(ctx context.Context, handle *resource.Handle) (*inventory.Record, error) {
	status, err := handle.LiveStatus(ctx)
	if err != nil || status[recordField] == nil {
		return nil, err
	}
	raw, err := json.Marshal(status[recordField])
	if err != nil {
		return nil, fmt.Errorf("encoding status.inventoryRecord: %w", err)
	}
	found := &inventory.Record{}
	if err := json.Unmarshal(raw, found); err != nil {
		return nil, fmt.Errorf("decoding status.inventoryRecord: %w", err)
	}
	return found, nil
}
