// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// recalled is the inventory of a component whose status does not have it.
type recalled struct {
	// checksum is that of the record; empty if there is none, because it is lost.
	checksum string
	items    []*reconciler.InventoryItem
	chunks   chunks.Handles
}

// recall completes the inventory of the status in memory. Chunks are read once per process, and then whenever somebody else has
// written the status. If the record is lost or damaged, the inventory is rebuilt before anything depends on it.
func (w *worker) recall(ctx context.Context, s *scope) outcome {
	reference := s.status.InventoryRecord
	switch {
	case s.record.lost && s.deleting && s.memory.recalled != nil && s.memory.recalled.checksum == "":
		s.status.Inventory, s.record.known = s.memory.recalled.items, true
	case s.record.lost:
		s.record.gap = "the status was empty"
	case !s.status.hasRecord():
		if s.record.gap = items.Mismatch(s.record.mark.inventory, s.status.Inventory); s.record.gap == "" {
			s.record.items, s.record.known = s.status.Inventory, true
			return proceed
		}
	case s.memory.recalled != nil && s.memory.recalled.checksum == reference.Checksum && len(s.status.Inventory) == 0:
		s.status.Inventory, s.record.known = s.memory.recalled.items, true
		s.record.items, s.record.chunks = s.status.Inventory, s.memory.recalled.chunks
		return proceed
	default:
		if err := w.readRecord(ctx, s, reference); err != nil {
			return outcomeOf(err)
		}
	}
	if s.record.gap == "" {
		return proceed
	}
	// What is missing may be missing because somebody else has written another status meanwhile.
	return outcomeOf(w.rebase(ctx, s))
}

// recallNext has the next pass begin with the inventory as it is now, although it is not recorded.
func (s *scope) recallNext() {
	s.memory.recalled = &recalled{items: s.status.Inventory, chunks: s.record.chunks}
	if s.status.hasRecord() {
		s.memory.recalled.checksum = s.status.InventoryRecord.Checksum
	}
}

// readRecord takes the inventory out of the record, or reads it from the server. Only what is certainly missing or damaged leaves a
// gap.
func (w *worker) readRecord(ctx context.Context, s *scope, reference *InventoryRecord) error {
	var found chunks.Found
	if s.status.recordForm() == formPacked {
		content, err := chunks.Unpack(reference.Content)
		if err != nil {
			found.Damage = []string{"status.inventoryRecord.content: " + err.Error()}
		} else {
			found.Contents = [][]byte{content}
		}
	} else {
		var err error
		if found, err = w.recordStore(s, chunks.ConfigMap, reference.Namespace).Read(ctx, reference.Chunks); err != nil {
			return fmt.Errorf("reading the inventory: %w", err)
		}
	}
	all := []*reconciler.InventoryItem{}
	for _, content := range found.Contents {
		var part []*reconciler.InventoryItem
		if err := json.Unmarshal(content, &part); err != nil {
			found.Damage = append(found.Damage, "a list of items cannot be decoded: "+err.Error())
			continue
		}
		all = append(all, part...)
	}
	if len(found.Damage) == 0 && chunks.Checksum(found.Contents) != reference.Checksum {
		found.Damage = append(found.Damage, "the items are not those of which status.inventoryRecord has the checksum")
	}
	s.record.chunks = found.Intact
	count := len(all)
	if all = items.Nameable(all); len(all) < count {
		found.Damage = append(found.Damage, "there are items that name no object")
	}
	if len(found.Damage) > 0 {
		s.record.gap = "its record was damaged (" + texts.Join(found.Damage, "; ") + ")"
		s.status.Inventory = items.Union(items.Nameable(reference.items()), all)
		return nil
	}
	s.record.known, s.record.items = true, all
	// A process that does not know chunks, an older version, may have written a list of its own.
	s.record.outdated = len(s.status.Inventory) > 0
	s.status.Inventory = items.Union(all, s.status.Inventory)
	if !s.record.outdated {
		s.memory.recalled = &recalled{checksum: reference.Checksum, items: s.status.Inventory, chunks: found.Intact}
	}
	return nil
}
