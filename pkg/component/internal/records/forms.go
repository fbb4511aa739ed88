// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// plan chooses the form of the inventory and writes chunks if needed. Its choice takes effect when the status is
// written. An inventory that reaches the limit of a form moves to the next one, and back once it is below half of it.
func (r *Record) plan(ctx context.Context) error {
	if !r.known || r.isFrozen() || !r.outdated && Same(r.items, *r.fields.Inventory) {
		return nil
	}
	encoded, err := chunks.EncodeInventory(*r.fields.Inventory)
	if errors.Is(err, chunks.ErrTooLarge) {
		return r.refused(err.Error())
	}
	if err != nil || r.handle.Deleting {
		return err
	}
	size := chunks.Size(encoded)
	inChunks := r.fields.hasRecord() && !r.fields.isPacked()
	if size >= r.limit || inChunks && size >= r.limit/2 {
		err := r.planChunks(ctx, encoded)
		var refused *reconciler.RefusedError
		if !errors.As(err, &refused) || inChunks || HasGrown(r.items, *r.fields.Inventory) {
			return err
		}
		// The status had room for it so far.
	}
	return r.planInStatus(ctx, encoded, size)
}

// planInStatus stores the inventory in the status: packed, or as a list.
func (r *Record) planInStatus(ctx context.Context, encoded []chunks.Item, size int) error {
	packedFrom := r.limit / 8
	switch {
	case !r.memory.unpacked && (size >= packedFrom || r.fields.hasRecord() && size >= packedFrom/2):
		return r.planPacked(ctx, encoded)
	case r.fields.hasRecord():
		r.planStatus(ctx, &inventory.Record{Inline: true})
	}
	return nil
}

// isFrozen reports whether the record stays as it is, because the component is being deleted.
func (r *Record) isFrozen() bool { return r.handle.Deleting && (r.fields.hasRecord() || r.lost) }

func (r *Record) refused(problem string) error {
	return &reconciler.RefusedError{Problems: []string{fmt.Sprintf("%s: status.inventory: %s", r.handle.Name(), problem)}}
}

// planPacked compresses the inventory. It only replaces a list if the server keeps the record.
func (r *Record) planPacked(ctx context.Context, encoded []chunks.Item) error {
	list, err := chunks.PackItems(encoded)
	if err != nil {
		return err
	}
	record := newRecord(list, *r.fields.Inventory)
	if !r.fields.hasRecord() && len(r.items) > 0 {
		kept, err := r.tryOut(ctx, *record)
		if err != nil {
			return err
		}
		if r.memory.unpacked = !kept; !kept {
			return nil
		}
	}
	r.planStatus(ctx, record)
	return nil
}

// planStatus stores the inventory in the status. The record keeps the namespace of former chunks: as long as it is
// there, passes look for leftovers.
func (r *Record) planStatus(ctx context.Context, record *inventory.Record) {
	next := &nextRecord{previous: *r.fields.Record, swept: r.memory.swept}
	if next.previous != nil {
		record.Unlisted = next.previous.Unlisted
		if r.stores.Trusts(next.previous.Namespace) {
			record.Namespace = next.previous.Namespace
		}
	}
	if r.fields.hasRecord() && !r.fields.isPacked() {
		next.stale, next.swept = r.staleChunks(ctx)
	}
	if record.Inline && record.Namespace == "" && len(record.Unlisted) == 0 {
		record = nil
	}
	r.next, *r.fields.Record = next, record
}

// unpack writes the inventory as a list after the server has dropped the packed one, because the component's
// CustomResourceDefinition is an older one.
func (r *Record) unpack(ctx context.Context) error {
	r.memory.unpacked = true
	if r.next != nil {
		r.next, *r.fields.Record = nil, r.next.previous
	}
	if r.fields.hasRecord() {
		r.planStatus(ctx, &inventory.Record{Inline: true})
	}
	return r.SaveStatus(ctx)
}

// planChunks writes chunks for the inventory.
func (r *Record) planChunks(ctx context.Context, encoded []chunks.Item) error {
	tooLarge := func(why string) error {
		return r.refused(fmt.Sprintf("%s take %d bytes; the limit is %d, %s", outcomes.Dependents(len(encoded)), chunks.Size(encoded), r.limit, why))
	}
	namespace := r.stores.Namespace()
	if namespace == "" {
		return tooLarge("unless the operator sets the option StateNamespace")
	}
	store, before := r.stores.Of(chunks.ConfigMap), 0
	if r.fields.hasRecord() {
		before = len((*r.fields.Record).Chunks)
	}
	list, contents := store.SpreadItems(encoded, before, r.limit)
	reference := r.fields.refer(list)
	reference.Namespace = namespace
	if !r.fields.hasRecord() {
		kept, err := r.tryOut(ctx, *reference)
		if err != nil {
			return err
		}
		if !kept {
			return tooLarge("because the component's CustomResourceDefinition lacks status.inventoryRecord; update it")
		}
	}
	next := &nextRecord{previous: *r.fields.Record}
	next.stale, next.swept = r.staleChunks(ctx)
	var err error
	if next.written, err = store.Write(ctx, contents, r.chunks); err != nil {
		r.memory.swept = false
		if errors.Is(err, chunks.ErrTooLarge) {
			return r.refused(err.Error())
		}
		return fmt.Errorf("recording the inventory: %w", err)
	}
	for _, name := range next.written.Names {
		delete(next.stale, name)
	}
	r.next, *r.fields.Record = next, reference
	return nil
}

// tryOut finds out whether the server keeps the record before anything depends on it. It writes the record as inline,
// so that the present inventory still counts.
func (r *Record) tryOut(ctx context.Context, record inventory.Record) (kept bool, err error) {
	record.Inline = true
	raw, err := json.Marshal(record)
	if err != nil {
		return false, fmt.Errorf("encoding status.inventoryRecord: %w", err)
	}
	encoded, err := resource.Decode(raw)
	if err != nil {
		return false, fmt.Errorf("decoding status.inventoryRecord: %w", err)
	}
	if !reflect.DeepEqual(r.handle.Stored(recordField), encoded) {
		if err := r.handle.WriteField(ctx, recordField, encoded); err != nil {
			return false, err
		}
	}
	if !reflect.DeepEqual(r.handle.Stored(recordField), encoded) {
		// Nothing may rely on a field that the server has dropped.
		r.handle.Disown(recordField)
		return false, nil
	}
	*r.fields.Record = &record
	return true, nil
}

// staleChunks returns the chunks to remove once the status no longer refers to them, and whether these are all. It
// lists chunks of earlier processes once. If the listing fails, they stay until a later write.
func (r *Record) staleChunks(ctx context.Context) (stale chunks.Handles, all bool) {
	stale = chunks.Handles{}
	maps.Copy(stale, r.chunks)
	if r.memory.swept {
		return stale, true
	}
	listed, err := r.stores.List(ctx, chunks.ConfigMap, r.fields.chunkNamespace())
	if err != nil {
		r.handle.Log.Error(err, "unused chunks of the inventory cannot be listed")
		return stale, false
	}
	maps.Copy(stale, listed)
	return stale, true
}
