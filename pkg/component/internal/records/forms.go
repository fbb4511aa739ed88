// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// plan chooses the form of the inventory and writes chunks if needed. Its choice takes effect when the status is
// written.
func (r *Record) plan(ctx context.Context) error {
	if !r.known || r.options.Deleting && (r.fields.hasRecord() || r.lost) {
		return nil
	}
	if !r.outdated && Same(r.items, *r.fields.Inventory) {
		return nil
	}
	encoded, err := chunks.EncodeInventory(*r.fields.Inventory)
	if errors.Is(err, chunks.ErrTooLarge) {
		return &reconciler.RefusedError{Problems: []string{fmt.Sprintf("%s: status.inventory: %s", r.options.Subject, err)}}
	}
	if err != nil || r.options.Deleting {
		return err
	}
	return (&planning{record: r, encoded: encoded, size: chunks.Size(encoded)}).run(ctx)
}

// planning chooses the form of one inventory.
type planning struct {
	record  *Record
	encoded []chunks.Item
	// size is the size of the inventory, in bytes of JSON.
	size int
}

func (p *planning) run(ctx context.Context) error {
	form := p.nextForm()
	if form == formChunks {
		err := p.planChunks(ctx)
		var refused *reconciler.RefusedError
		if !errors.As(err, &refused) || p.record.fields.form() == formChunks || HasGrown(p.record.items, *p.record.fields.Inventory) {
			return err
		}
		// The present form had room for it so far.
		form = p.record.fields.form()
	}
	if form == formPacked {
		return p.planPacked(ctx)
	}
	if p.record.fields.hasRecord() {
		p.planStatus(ctx, inventory.Record{Inline: true})
	}
	return nil
}

// nextForm returns the form for the size. An inventory that reaches a limit moves to the next larger form, and back
// once it is below half of that limit.
func (p *planning) nextForm() form {
	reached := func(limit int, form form) bool {
		return p.size >= limit || p.record.fields.form() >= form && p.size >= limit/2
	}
	switch {
	case reached(p.record.options.ChunkLimit, formChunks):
		return formChunks
	case reached(p.record.options.ListLimit, formPacked) && !p.record.memory.unpacked:
		return formPacked
	default:
		return formList
	}
}

// planStatus moves the inventory into the status. The record keeps the namespace of former chunks: as long as it is
// there, passes look for leftovers.
func (p *planning) planStatus(ctx context.Context, record inventory.Record) {
	next := &nextRecord{previous: *p.record.fields.Record, swept: p.record.memory.swept}
	if next.previous != nil {
		record.Unlisted = next.previous.Unlisted
		if p.record.stores.Trusts(next.previous.Namespace) {
			record.Namespace = next.previous.Namespace
		}
	}
	if p.record.fields.form() == formChunks {
		next.stale, next.swept = p.record.staleChunks(ctx)
	}
	p.record.next, *p.record.fields.Record = next, &record
	if record.Inline && record.Namespace == "" && len(record.Unlisted) == 0 {
		*p.record.fields.Record = nil
	}
}

// planPacked compresses the inventory. If dependents are recorded already, it first tries whether the server keeps the
// field.
func (p *planning) planPacked(ctx context.Context) error {
	list, err := chunks.PackItems(p.encoded)
	if err != nil {
		return err
	}
	record := newRecord(list, *p.record.fields.Inventory)
	if !p.record.fields.hasRecord() && len(p.record.items) > 0 {
		kept, err := p.tryOut(ctx, record)
		if err != nil {
			return err
		}
		if p.record.memory.unpacked = !kept; !kept {
			return nil
		}
	}
	p.planStatus(ctx, record)
	return nil
}

// planChunks writes chunks for the inventory.
func (p *planning) planChunks(ctx context.Context) error {
	namespace := p.record.stores.Namespace()
	if namespace == "" {
		return p.tooLarge("unless the operator sets the option StateNamespace")
	}
	store, before := p.record.stores.Of(chunks.ConfigMap), 0
	if p.record.fields.form() == formChunks {
		before = len((*p.record.fields.Record).Chunks)
	}
	list, contents := store.SpreadItems(p.encoded, before, p.record.options.ChunkLimit)
	reference := p.record.fields.refer(list)
	reference.Namespace = namespace
	if !p.record.fields.hasRecord() {
		kept, err := p.tryOut(ctx, *reference)
		if err != nil {
			return err
		}
		if !kept {
			return p.tooLarge("because the component's CustomResourceDefinition lacks status.inventoryRecord; update it")
		}
	}
	next := &nextRecord{previous: *p.record.fields.Record}
	next.stale, next.swept = p.record.staleChunks(ctx)
	var err error
	if next.written, err = store.Write(ctx, contents, p.record.chunks); err != nil {
		p.record.memory.swept = false
		if errors.Is(err, chunks.ErrTooLarge) {
			return &reconciler.RefusedError{Problems: []string{fmt.Sprintf("%s: status.inventory: %s", p.record.options.Subject, err)}}
		}
		return fmt.Errorf("recording the inventory: %w", err)
	}
	for _, name := range next.written.Names {
		delete(next.stale, name)
	}
	p.record.next, *p.record.fields.Record = next, reference
	return nil
}

func (p *planning) tooLarge(why string) error {
	return &reconciler.RefusedError{Problems: []string{fmt.Sprintf("%s: status.inventory: %s take %d bytes; the limit is %d, %s",
		p.record.options.Subject, outcomes.Dependents(len(*p.record.fields.Inventory)), p.size, p.record.options.ChunkLimit, why)}}
}

// tryOut finds out whether the server keeps the record before anything depends on it. It writes the record as inline,
// so that the present inventory still counts.
func (p *planning) tryOut(ctx context.Context, record inventory.Record) (kept bool, err error) {
	record.Inline = true
	encoded, err := toMap(&record)
	if err != nil {
		return false, err
	}
	if !reflect.DeepEqual(p.record.handle.Stored(recordField), encoded) {
		if err := p.record.handle.WriteField(ctx, recordField, encoded); err != nil {
			return false, err
		}
	}
	if !reflect.DeepEqual(p.record.handle.Stored(recordField), encoded) {
		// Nothing may rely on a field that the server has dropped.
		p.record.handle.Disown(recordField)
		return false, nil
	}
	*p.record.fields.Record = &record
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
		r.options.Log.Error(err, "unused chunks of the inventory cannot be listed")
		return stale, false
	}
	maps.Copy(stale, listed)
	return stale, true
}
