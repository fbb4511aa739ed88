// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"maps"
	"reflect"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
)

func (r *Record) save(ctx context.Context) error {
	status, err := r.persistent()
	changed := err == nil && !r.handle.WroteStatus(status)
	if changed {
		err = r.handle.Write(ctx, status)
	}
	if err == nil && changed {
		err = r.checkKept(ctx, status)
	}
	r.saved(ctx, changed, err)
	return err
}

// persistent returns the status to write. It has no list if the inventory is stored elsewhere, or if the list would be mistaken for a complete one.
func (r *Record) persistent() (map[string]any, error) {
	defer r.fields.putMark(r.nextMark())()
	if r.fields.hasRecord() || r.lost {
		items := *r.fields.Inventory
		*r.fields.Inventory = nil
		defer func() { *r.fields.Inventory = items }()
	}
	return r.handle.Status()
}

// checkKept checks whether the server has kept the record. If not, the definition is an older one: a packed inventory is then written as a list, and
// one in chunks has to be rebuilt by the next process.
func (r *Record) checkKept(ctx context.Context, status map[string]any) error {
	before := r.memory.unkept
	r.memory.unkept = r.fields.hasRecord() && !reflect.DeepEqual(r.handle.Stored(recordField), status[recordField])
	switch {
	case r.memory.unkept && r.fields.form() == formPacked:
		r.memory.unkept, r.memory.unpacked, r.memory.swept = false, true, false
		r.unpack()
	case before || !r.memory.unkept:
		return nil
	default:
		*r.fields.ObservedGeneration = -1
	}
	status, err := r.persistent()
	if err != nil {
		return err
	}
	return r.handle.Write(ctx, status)
}

// unpack moves the inventory back to the list after the server has dropped the packed form. Earlier chunks are removed when the list is written.
func (r *Record) unpack() {
	reference := *r.fields.Record
	record := inventory.Record{Inline: true, Namespace: reference.Namespace, Unlisted: reference.Unlisted}
	*r.fields.Record = nil
	if record.Namespace != "" || len(record.Unlisted) > 0 {
		*r.fields.Record = &record
	}
	if r.next != nil && r.next.stale == nil {
		r.next = nil
	}
}

// saved completes or undoes a change of the record after the status write. After a refused write, it removes new chunks only if the status certainly
// does not refer to them; after a successful one, it removes stale chunks only if the record has changed.
func (r *Record) saved(ctx context.Context, changed bool, err error) {
	next := r.next
	r.next = nil
	var remove chunks.Handles
	switch {
	case next == nil:
		if err == nil && r.known && !r.fields.hasRecord() {
			r.items, r.outdated = *r.fields.Inventory, false
		}
		return
	case err != nil:
		*r.fields.Record = next.previous
		r.memory.swept = false
		if errors.Is(err, resource.ErrChanged) && len(next.written.Created) > 0 {
			remove = r.unreferenced(ctx, next.written.Created)
		}
	default:
		r.items, r.chunks, r.outdated = *r.fields.Inventory, next.written.All, false
		r.memory.recalled = nil
		if r.fields.hasRecord() {
			r.memory.recalled = &recalled{checksum: (*r.fields.Record).Checksum, items: *r.fields.Inventory, chunks: next.written.All}
		}
		r.memory.swept = next.swept && changed
		if changed {
			remove = next.stale
		}
	}
	if len(remove) == 0 {
		return
	}
	if complete, err := r.stores.Of(chunks.ConfigMap).Remove(ctx, remove); err != nil || !complete {
		r.memory.swept = false
		r.options.Log.Info("unused chunks of the inventory are left for a later pass", "error", err)
	}
}

// unreferenced returns the chunks that were written for a refused status and that the status on the server does not name. The server may have that
// status nevertheless: clients repeat a request whose outcome the server could not tell, and then the refusal answers the second attempt.
func (r *Record) unreferenced(ctx context.Context, written chunks.Handles) chunks.Handles {
	reference, err := liveRecord(ctx, r.handle)
	if err != nil {
		return nil
	}
	remaining := maps.Clone(written)
	if reference == nil {
		return remaining
	}
	for _, name := range reference.Chunks {
		if remaining[name].Namespace == reference.Namespace {
			delete(remaining, name)
		}
	}
	return remaining
}
