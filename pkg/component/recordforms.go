// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// recordForm is where an inventory is kept.
type recordForm int

const (
	// formList is status.inventory, which people can read, and which costs the server the most: each write of the status
	// is paid by the number of items.
	formList recordForm = iota
	// formPacked is one compressed value in the status.
	formPacked
	// formChunks are objects beside the component.
	formChunks
)

func (s *Status) recordForm() recordForm {
	switch {
	case !s.hasRecord():
		return formList
	case len(s.InventoryRecord.Content) > 0:
		return formPacked
	default:
		return formChunks
	}
}

// nextForm returns the form for an inventory of a size: the next larger one from its limit on, and back below half of it.
func (w *worker) nextForm(s *scope, size int) recordForm {
	reached := func(limit int, form recordForm) bool {
		return size >= limit || s.status.recordForm() >= form && size >= limit/2
	}
	switch {
	case reached(w.options.inlineLimit, formChunks):
		return formChunks
	case reached(w.options.listLimit, formPacked) && !s.memory.unpacked:
		return formPacked
	default:
		return formList
	}
}

// recordInventory decides on the form in which the inventory is recorded, and writes chunks. What it decides counts once the
// status is written. While a component is being deleted its record stays as it is: that more is recorded than there is does no
// harm, and no chunk can be written in a namespace that is being deleted, too.
func (w *worker) recordInventory(ctx context.Context, s *scope) error {
	if !s.record.known || s.deleting && (s.status.hasRecord() || s.record.lost) {
		return nil
	}
	if !s.record.outdated && items.Same(s.record.items, s.status.Inventory) {
		return nil
	}
	encoded, size, err := items.Encode(s.status.Inventory)
	if err != nil || s.deleting {
		return err
	}
	form := w.nextForm(s, size)
	if form == formChunks {
		err = w.planChunks(ctx, s, encoded, size)
		var refused *reconciler.RefusedError
		if !errors.As(err, &refused) || s.status.recordForm() == formChunks || items.HasGrown(s.record.items, s.status.Inventory) {
			return err
		}
		// There was room for it so far.
		form = s.status.recordForm()
	}
	if form == formPacked {
		return w.planPacked(ctx, s, encoded)
	}
	if s.status.hasRecord() {
		w.planStatus(ctx, s, InventoryRecord{Inline: true})
	}
	return nil
}

// planStatus has the inventory return to the status. A record of where chunks were stays, because as long as it is there, it is looked
// for them.
func (w *worker) planStatus(ctx context.Context, s *scope, record InventoryRecord) {
	next := &nextRecord{previous: s.status.InventoryRecord, swept: s.memory.swept}
	if next.previous != nil {
		record.Namespace, record.Unlisted = next.previous.Namespace, next.previous.Unlisted
		record.PreviousNamespace = s.previousNamespace(record.Namespace)
	}
	if s.status.recordForm() == formChunks {
		next.stale, next.swept = w.staleChunks(ctx, s)
	}
	s.record.next, s.status.InventoryRecord = next, &record
	if record.Inline && record.Namespace == "" && len(record.Unlisted) == 0 {
		s.status.InventoryRecord = nil
	}
}

// planPacked compresses the inventory. A component of which nothing is recorded so far has nothing to lose if the server drops
// what it does not know; for any other one it is tried out before.
func (w *worker) planPacked(ctx context.Context, s *scope, encoded []chunks.Item) error {
	content := chunks.Join(encoded)
	packed, err := chunks.Pack(content)
	if err != nil {
		return err
	}
	record := InventoryRecord{
		Content:  packed,
		Checksum: chunks.Checksum([][]byte{content}),
		Items:    len(encoded),
		Kinds:    items.Kinds(s.status.Inventory),
	}
	if !s.status.hasRecord() && len(s.record.items) > 0 {
		kept, err := w.announceRecord(ctx, s, record)
		if err != nil {
			return err
		}
		if s.memory.unpacked = !kept; !kept {
			return nil
		}
	}
	w.planStatus(ctx, s, record)
	return nil
}

// planChunks writes chunks for the inventory.
func (w *worker) planChunks(ctx context.Context, s *scope, encoded []chunks.Item, size int) error {
	namespace, err := w.stateNamespace(s, size)
	if err != nil {
		return err
	}
	store, before := w.recordStore(s, chunks.ConfigMap, namespace), 0
	if s.status.recordForm() == formChunks {
		before = len(s.status.InventoryRecord.Chunks)
	}
	contents := chunks.Spread(encoded, before, w.options.inlineLimit)
	reference := newInventoryRecord(s.status, namespace, store, contents)
	reference.PreviousNamespace = s.previousNamespace(namespace)
	if !s.status.hasRecord() {
		kept, err := w.announceRecord(ctx, s, *reference)
		if err != nil {
			return err
		}
		if !kept {
			return w.tooLarge(s, size, "because the CustomResourceDefinition of the component does not keep status.inventoryRecord; please update it")
		}
	}
	next := &nextRecord{previous: s.status.InventoryRecord}
	next.stale, next.swept = w.staleChunks(ctx, s)
	next.written, err = store.Write(ctx, contents, s.record.chunks)
	if err != nil {
		s.memory.swept = false
		if errors.Is(err, chunks.ErrTooLarge) {
			return &reconciler.RefusedError{Problems: []string{fmt.Sprintf("%s: status.inventory: %s", w.text(s), err)}}
		}
		return fmt.Errorf("recording the inventory: %w", err)
	}
	// The same content has the same name in another namespace.
	next.stale.drop(namespace, next.written.Names)
	s.record.next, s.status.InventoryRecord = next, reference
	return nil
}

// stateNamespace is where chunks are kept.
func (w *worker) stateNamespace(s *scope, size int) (string, error) {
	if s.key.Namespace != "" {
		return s.key.Namespace, nil
	}
	if w.options.StateNamespace != "" {
		return w.options.StateNamespace, nil
	}
	return "", w.tooLarge(s, size, "unless the operator sets the option StateNamespace, where the rest of it can be kept")
}

func (w *worker) tooLarge(s *scope, size int, why string) error {
	return &reconciler.RefusedError{Problems: []string{fmt.Sprintf("%s: status.inventory: %s take %d bytes; allowed are less than %d, %s",
		w.text(s), texts.Dependents(len(s.status.Inventory)), size, w.options.inlineLimit, why)}}
}

// text names the component in messages.
func (w *worker) text(s *scope) string {
	return w.gvk.Kind + " " + s.key.String()
}

// announceRecord finds out, before anything depends on it, whether the server keeps a record: it is written as one that
// does not count yet, beside the inventory that does.
func (w *worker) announceRecord(ctx context.Context, s *scope, record InventoryRecord) (kept bool, err error) {
	record.Inline = true
	encoded, err := toMap(&record)
	if err != nil {
		return false, err
	}
	if !sameRecord(s.server[recordField], encoded) {
		current := maps.Clone(s.base)
		if current == nil {
			current = map[string]any{}
		}
		current[recordField] = encoded
		if err := w.write(ctx, s, current); err != nil {
			return false, err
		}
	}
	if !sameRecord(s.server[recordField], encoded) {
		// Nobody must believe that it is there.
		delete(s.base, recordField)
		return false, nil
	}
	s.status.InventoryRecord = &record
	return true, nil
}
