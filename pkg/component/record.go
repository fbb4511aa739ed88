// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"maps"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// recording is what a pass knows about the persisted inventory.
type recording struct {
	// known means that the inventory of the status is complete in memory.
	known bool
	// lost means that there is no record at all although there must have been one.
	lost bool
	// gap says why the inventory is not known and has to be rebuilt; empty if it has not.
	gap string
	// mark is what the status says about the inventory that it ought to have; see Status.mark.
	mark mark
	// outdated means that the inventory has to be recorded anew even if its items are the same.
	outdated bool
	// items are those that are recorded.
	items []*reconciler.InventoryItem
	// chunks are those to which the status refers, as far as they are intact.
	chunks chunks.Handles
	// next is what becomes of the record with the next write of the status; nil if it stays.
	next *nextRecord
}

// nextRecord is a change of the record that begins to count when the status is written.
type nextRecord struct {
	previous *InventoryRecord
	written  chunks.Written
	// stale are chunks to which the status does not refer any more then. They were seen before. Nil if there never were chunks.
	stale placed
	// swept means that these are all there are.
	swept bool
}

// hasRecord reports whether the inventory is in the record, packed or in chunks, and not in status.inventory.
func (s *Status) hasRecord() bool {
	return s.InventoryRecord != nil && !s.InventoryRecord.Inline
}

// sameRecord reports whether two records, as they are in statuses, say the same about the inventory. A definition that is a little older drops
// only where chunks may be left.
func sameRecord(a, b any) bool {
	essence := func(record any) any {
		fields, ok := record.(map[string]any)
		if !ok {
			return record
		}
		fields = maps.Clone(fields)
		delete(fields, "previousNamespace")
		return fields
	}
	return reflect.DeepEqual(essence(a), essence(b))
}

// keepRecord ends a pass: it records what the pass has changed in the inventory, if that is possible.
func (w *worker) keepRecord(ctx context.Context, s *scope, o outcome) outcome {
	if o.kind == outcomeGone || o.kind == outcomeAbandoned {
		return o
	}
	if s.record.known && s.deleting && (s.status.hasRecord() || s.record.lost) {
		s.recallNext()
	}
	o.message += w.rebuildNote(s)
	if err := w.recordInventory(ctx, s); err != nil && o.kind != outcomeError {
		return outcomeOf(err)
	}
	return o
}

// staleChunks returns the chunks that go if the status does not refer to them any more, and whether these are all. Those that
// earlier processes have left behind are found once; not to find them delays their end.
func (w *worker) staleChunks(ctx context.Context, s *scope) (stale placed, all bool) {
	stale = placed{}
	stale.add(s.record.chunks)
	if s.memory.swept {
		return stale, true
	}
	listed, err := w.listPlaced(ctx, s, chunks.ConfigMap, s.status.InventoryRecord.namespaces()...)
	if err != nil {
		s.log.Error(err, "chunks of the inventory that are not used any more cannot be found")
		return stale, false
	}
	for _, handles := range listed {
		stale.add(handles)
	}
	return stale, true
}

// previousNamespace is where chunks may be left when those that are written next are kept in a namespace.
func (s *scope) previousNamespace(namespace string) string {
	switch reference := s.status.InventoryRecord; {
	case reference == nil:
		return ""
	case reference.Namespace != "" && reference.Namespace != namespace:
		return reference.Namespace
	case s.memory.swept:
		return ""
	default:
		return reference.PreviousNamespace
	}
}

// recorded takes into account whether the status was written, with the record in it. Chunks are removed after a write that
// was refused only if it is certain that nobody refers to them, and after a successful one only if it has changed the record.
func (w *worker) recorded(ctx context.Context, s *scope, changed bool, err error) {
	next := s.record.next
	s.record.next = nil
	remove := placed{}
	switch {
	case next == nil:
		if err == nil && s.record.known && !s.status.hasRecord() {
			s.record.items, s.record.outdated = s.status.Inventory, false
		}
		return
	case err != nil:
		s.status.InventoryRecord = next.previous
		s.memory.swept = false
		if errors.Is(err, errAbandoned) && len(next.written.Created) > 0 {
			remove.add(w.unreferenced(ctx, s, next.written.Created))
		}
	default:
		s.record.items, s.record.chunks, s.record.outdated = s.status.Inventory, next.written.All, false
		s.memory.recalled = nil
		if s.status.hasRecord() {
			s.memory.recalled = &recalled{checksum: s.status.InventoryRecord.Checksum, items: s.status.Inventory, chunks: next.written.All}
		}
		s.memory.swept = next.swept && changed
		if changed {
			remove = next.stale
		}
	}
	if len(remove) == 0 {
		return
	}
	if complete, err := w.removePlaced(ctx, s, chunks.ConfigMap, remove); err != nil || !complete {
		s.memory.swept = false
		s.log.Info("chunks of the inventory that are not used any more are left for later", "error", err)
	}
}

// unreferenced returns those of the chunks that were written for a status which the server has refused, and does not have
// nevertheless: a client repeats a request by itself if the server answers that it could not tell the end of the first attempt,
// and what is refused then is the second one.
func (w *worker) unreferenced(ctx context.Context, s *scope, written chunks.Handles) chunks.Handles {
	live := w.newComponent()
	if err := w.live.Get(ctx, s.key, live); client.IgnoreNotFound(err) != nil {
		return nil
	}
	remaining := maps.Clone(written)
	if reference := live.GetStatus().InventoryRecord; reference != nil {
		for _, name := range reference.Chunks {
			if remaining[name].Namespace == reference.Namespace {
				delete(remaining, name)
			}
		}
	}
	return remaining
}
