// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/inventories"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/stores"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Memory is what a process remembers of the record of one component. To lose it costs requests. It is used by one pass at a time; the zero
// value is ready for use.
type Memory struct {
	// recalled is the inventory of a component whose status does not have it; nil if it was not read yet.
	recalled *recalled
	// swept is set once no chunks are left that the status does not name; chunks of earlier processes are unknown before.
	swept bool
	// unpacked is set once the server has dropped a packed inventory: it does not know the field.
	unpacked bool
	// unkept is set as long as the server drops the reference to the chunks.
	unkept bool
	// disguises is set while failed dependents are recorded in a way that former definitions accept.
	disguises bool
	// rebuilt says what was found when this process rebuilt the inventory; empty if it did not.
	rebuilt string
	// relisted is when kinds were tried last that could not be listed.
	relisted time.Time
}

// ForgetNote has conditions no longer say that the inventory was rebuilt.
func (m *Memory) ForgetNote() { m.rebuilt = "" }

// Record is the inventory of a component during one pass.
type Record struct {
	memory  *Memory
	handle  *resource.Handle
	stores  *stores.Stores
	fields  Fields
	options Options

	// known means that the inventory of the status is complete in memory.
	known bool
	// lost means that there is no record at all although there must have been one.
	lost bool
	// gap says why the inventory is not known and has to be rebuilt; empty if it has not.
	gap string
	// mark is what the status said about the inventory when the pass began; cluster is the cluster that the next one names.
	mark    mark
	cluster string
	// outdated means that the inventory has to be recorded anew even if its items are the same.
	outdated bool
	// items are those that are recorded.
	items []*reconciler.InventoryItem
	// chunks are those to which the status refers, as far as they are intact.
	chunks chunks.Handles
	// next is what becomes of the record with the next write of the status; nil if it stays.
	next *nextRecord
	// unsaved is set if the last attempt to write the status failed.
	unsaved bool
}

// nextRecord is a change of the record that begins to count when the status is written.
type nextRecord struct {
	previous *inventory.Record
	written  chunks.Written
	// stale are chunks to which the status does not refer any more then. They were seen before. Nil if there never were chunks.
	stale stores.Placed
	// swept means that these are all there are.
	swept bool
}

// Options configure the record of one component.
type Options struct {
	// Subject names the component in messages.
	Subject string
	// Deleting is set if the component is being deleted.
	Deleting bool
	// ListLimit is the size of an inventory, in bytes of JSON, from which on it is compressed; ChunkLimit that from which on it is kept in chunks.
	ListLimit, ChunkLimit int
	Log                   logr.Logger
	// Warn writes an event about the component.
	Warn func(reason, message string)
}

// Open begins to work with the record of a component.
func Open(fields Fields, memory *Memory, handle *resource.Handle, places *stores.Stores, options Options) *Record {
	for _, list := range fields.lists() {
		*list = inventories.Valid(*list)
	}
	memory.disguises = fields.recognizeFailures()
	r := &Record{memory: memory, handle: handle, stores: places, fields: fields, options: options, mark: fields.takeMark()}
	r.cluster = r.mark.cluster
	return r
}

// Cluster names the cluster that has the dependents; empty if it is not known.
func (r *Record) Cluster() string { return r.cluster }

// SetCluster has the next write name the cluster that has the dependents.
func (r *Record) SetCluster(name string) { r.cluster = name }

// NoteLoss says that the component must have had a record. If there is none, the inventory has to be rebuilt.
func (r *Record) NoteLoss() { r.lost = r.fields.isEmpty() }

// IsLost reports whether there is no record at all although there must have been one.
func (r *Record) IsLost() bool { return r.lost }

// IsKept reports whether the server has a record that the next process can rely on. As long as it has not, the generation of the component
// must not count as observed.
func (r *Record) IsKept() bool { return !r.lost && !r.memory.unkept }

// Gap says why the inventory is not known and has to be rebuilt; empty if it has not.
func (r *Record) Gap() string { return r.gap }

// Unsaved reports whether the last attempt to write the status failed.
func (r *Record) Unsaved() bool { return r.unsaved }

// Unlisted are the kinds of which there may be dependents that are not known.
func (r *Record) Unlisted() []reconciler.TypeInfo { return r.fields.Unlisted() }

// Clear has the component have no dependents. That is recorded with the next write.
func (r *Record) Clear() {
	*r.fields.Inventory, r.gap = nil, ""
	r.known, r.outdated = true, true
	r.fields.setUnlisted(nil)
}

// Keep records what a pass has changed in the inventory, if that is possible. It counts once the status is written.
func (r *Record) Keep(ctx context.Context) error {
	if r.known && r.options.Deleting && (r.fields.hasRecord() || r.lost) {
		r.recallNext()
	}
	return r.plan(ctx)
}

// SaveInventory persists an inventory, along with what else has changed in the status. See reconciler.Store.
func (r *Record) SaveInventory(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	*r.fields.Inventory = inventory
	err := r.plan(ctx)
	if err == nil {
		err = r.save(ctx)
	}
	r.unsaved = err != nil
	return err
}

// Save writes the status if it says something new, and ends what Keep has begun.
func (r *Record) Save(ctx context.Context) error {
	err := r.save(ctx)
	r.unsaved = err != nil
	return err
}
