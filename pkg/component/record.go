// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	store    *chunks.Store
	written  chunks.Written
	// stale are chunks to which the status does not refer any more then. They were seen before.
	stale chunks.Handles
	// swept means that these are all there are.
	swept bool
}

// isChunked tells whether the inventory is kept elsewhere.
func (s *Status) isChunked() bool {
	return s.InventoryRecord != nil && !s.InventoryRecord.Inline
}

// keepRecord ends a pass: it records what the pass has changed in the inventory, if that is possible.
func (w *worker) keepRecord(ctx context.Context, s *scope, o outcome) outcome {
	if o.kind == outcomeGone || o.kind == outcomeAbandoned {
		return o
	}
	if s.record.known && s.deleting && (s.status.isChunked() || s.record.lost) {
		s.recallNext()
	}
	o.message += w.rebuildNote(s)
	if err := w.recordInventory(ctx, s); err != nil && o.kind != outcomeError {
		return outcomeOf(err)
	}
	return o
}

// recordInventory decides on the form in which the inventory is recorded, and writes chunks. What it decides counts once the
// status is written. While a component is being deleted its chunks stay as they are: that more is recorded than there is does no
// harm, and none can be written in a namespace that is being deleted, too.
func (w *worker) recordInventory(ctx context.Context, s *scope) error {
	if !s.record.known || s.deleting && (s.status.isChunked() || s.record.lost) {
		return nil
	}
	if !s.record.outdated && sameItems(s.record.items, s.status.Inventory) {
		return nil
	}
	items, size, err := encodeItems(s.status.Inventory)
	if err != nil {
		return err
	}
	limit := w.options.inlineLimit
	switch {
	case s.status.isChunked() && size < limit/2:
		w.planInline(ctx, s)
		return nil
	case s.deleting, !s.status.isChunked() && size < limit:
		return nil
	}
	err = w.planChunks(ctx, s, items, size)
	var refused *reconciler.RefusedError
	if errors.As(err, &refused) && !s.status.isChunked() && !hasGrown(s.record.items, s.status.Inventory) {
		// There was room for it so far.
		return nil
	}
	return err
}

// planInline has the inventory return to the status. The record stays, because as long as it is there, it is looked for chunks.
func (w *worker) planInline(ctx context.Context, s *scope) {
	previous := s.status.InventoryRecord
	store := w.chunkStore(s, previous.Namespace)
	next := &nextRecord{previous: previous, store: store}
	next.stale, next.swept = w.staleChunks(ctx, s, store)
	s.record.next = next
	s.status.InventoryRecord = &InventoryRecord{Inline: true, Namespace: previous.Namespace, Unlisted: previous.Unlisted}
}

// planChunks writes chunks for the inventory.
func (w *worker) planChunks(ctx context.Context, s *scope, items []chunks.Item, size int) error {
	namespace, err := w.stateNamespace(s, size)
	if err != nil {
		return err
	}
	store, before := w.chunkStore(s, namespace), 0
	if s.status.isChunked() {
		before = len(s.status.InventoryRecord.Chunks)
	}
	contents := chunks.Spread(items, before, w.options.inlineLimit)
	reference := newInventoryRecord(s.status, namespace, store, contents)
	if !s.status.isChunked() {
		if err := w.announceRecord(ctx, s, reference, size); err != nil {
			return err
		}
	}
	next := &nextRecord{previous: s.status.InventoryRecord, store: store}
	next.stale, next.swept = w.staleChunks(ctx, s, store)
	next.written, err = store.Write(ctx, contents, s.record.chunks)
	if err != nil {
		s.memory.swept = false
		if errors.Is(err, chunks.ErrTooLarge) {
			return &reconciler.RefusedError{Problems: []string{fmt.Sprintf("%s: status.inventory: %s", w.text(s), err)}}
		}
		return fmt.Errorf("recording the inventory: %w", err)
	}
	for _, name := range next.written.Names {
		delete(next.stale, name)
	}
	s.record.next, s.status.InventoryRecord = next, reference
	return nil
}

// text names the component in messages.
func (w *worker) text(s *scope) string {
	return w.gvk.Kind + " " + s.key.String()
}

// stateNamespace is where chunks are kept.
func (w *worker) stateNamespace(s *scope, size int) (string, error) {
	if s.key.Namespace != "" {
		return s.key.Namespace, nil
	}
	if w.options.StateNamespace != "" {
		return w.options.StateNamespace, nil
	}
	return "", &reconciler.RefusedError{Problems: []string{fmt.Sprintf(
		"%s: status.inventory: %s take %d bytes; allowed are less than %d, unless the operator sets the option StateNamespace, where the rest of it can be kept",
		w.text(s), dependents(len(s.status.Inventory)), size, w.options.inlineLimit)}}
}

// announceRecord proves, before anything depends on it, that the server keeps the reference to chunks: it is written as one that
// does not count yet, beside the inventory that does.
func (w *worker) announceRecord(ctx context.Context, s *scope, reference *InventoryRecord, size int) error {
	announced := *reference
	announced.Inline = true
	encoded, err := toMap(&announced)
	if err != nil {
		return err
	}
	const field = "inventoryRecord"
	if !reflect.DeepEqual(s.server[field], any(encoded)) {
		current := maps.Clone(s.base)
		if current == nil {
			current = map[string]any{}
		}
		current[field] = encoded
		if err := w.write(ctx, s, current); err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(s.server[field], any(encoded)) {
		// Nobody must believe that it is there.
		delete(s.base, field)
		return &reconciler.RefusedError{Problems: []string{fmt.Sprintf(
			"%s: status.inventory: %s take %d bytes; allowed are less than %d, because the CustomResourceDefinition of the component does not keep status.inventoryRecord; please update it",
			w.text(s), dependents(len(s.status.Inventory)), size, w.options.inlineLimit)}}
	}
	s.status.InventoryRecord = &announced
	return nil
}

// staleChunks returns the chunks that go if the status does not refer to them any more, and whether these are all. Those that
// earlier processes have left behind are found once; not to find them delays their end.
func (w *worker) staleChunks(ctx context.Context, s *scope, store *chunks.Store) (stale chunks.Handles, all bool) {
	stale = maps.Clone(s.record.chunks)
	if stale == nil {
		stale = chunks.Handles{}
	}
	if s.memory.swept {
		return stale, true
	}
	listed, err := store.List(ctx)
	if err != nil {
		s.log.Error(err, "chunks of the inventory that are not used any more cannot be found")
		return stale, false
	}
	maps.Copy(stale, listed)
	return stale, true
}

// recorded takes into account whether the status was written, with the record in it. Chunks are removed after a write that
// was refused only if it is certain that nobody refers to them, and after a successful one only if it has changed the record.
func (w *worker) recorded(ctx context.Context, s *scope, changed bool, err error) {
	next := s.record.next
	s.record.next = nil
	remove := chunks.Handles{}
	switch {
	case next == nil:
		if err == nil && s.record.known && !s.status.isChunked() {
			s.record.items, s.record.outdated = s.status.Inventory, false
		}
		return
	case err != nil:
		s.status.InventoryRecord = next.previous
		s.memory.swept = false
		if errors.Is(err, errAbandoned) {
			remove = w.unreferenced(ctx, s, next.written.Created)
		}
	default:
		s.record.items, s.record.chunks, s.record.outdated = s.status.Inventory, next.written.All, false
		s.memory.recalled = nil
		if s.status.isChunked() {
			s.memory.recalled = &recalled{checksum: s.status.InventoryRecord.Checksum, items: s.status.Inventory, chunks: next.written.All}
		}
		s.memory.swept = next.swept && changed
		if changed {
			remove = next.stale
		}
	}
	if complete, err := next.store.Remove(ctx, remove); err != nil || !complete {
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
			delete(remaining, name)
		}
	}
	return remaining
}

// encodeItems returns the items as they are stored, and the size of the whole list.
func encodeItems(inventory []*reconciler.InventoryItem) (items []chunks.Item, size int, err error) {
	items = make([]chunks.Item, len(inventory))
	for i, item := range inventory {
		value, err := json.Marshal(item)
		if err != nil {
			return nil, 0, fmt.Errorf("encoding the inventory: %w", err)
		}
		items[i] = chunks.Item{Key: item.Group + "/" + item.Kind + "/" + item.Namespace + "/" + item.Name, Value: value}
		size += len(value) + 1
	}
	return items, size, nil
}
