// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Memory is what a process remembers about the record of one component. Losing it costs requests, nothing else. Only one pass uses it at a time. The
// zero value is ready for use.
type Memory struct {
	// recalled is an inventory that is not in the status; nil if it has not been read.
	recalled *recalled
	// swept is set once there are no chunks but those that the status names. Before, an earlier process may have left some.
	swept bool
	// unpacked is set once the server has dropped a packed inventory, because the definition lacks the field.
	unpacked bool
	// unkept is set while the server drops the reference to the chunks.
	unkept bool
	// rebuilt describes what this process found when it rebuilt the inventory; empty if it did not.
	rebuilt string
	// relisted is when kinds that could not be listed were last tried.
	relisted time.Time
}

// ForgetNote removes the note about a rebuilt inventory from future conditions.
func (m *Memory) ForgetNote() { m.rebuilt = "" }

// Record is the inventory of a component during one pass.
type Record struct {
	// Inherited means that the predecessor of this SDK has recorded the inventory: it does not write a mark. As long as it is set, writes do not
	// add a mark, so that later passes find the same.
	Inherited bool

	memory  *Memory
	handle  *resource.Handle
	stores  *Stores
	fields  Fields
	options Options

	// known means that the inventory in memory is complete.
	known bool
	// lost means that there is no record although there must have been one.
	lost bool
	// gap says why the inventory is not known and must be rebuilt; empty if it is known.
	gap string
	// mark is the mark that the pass has read; cluster is the one that the next mark names.
	mark    mark
	cluster string
	// outdated means that the inventory must be written even if its items have not changed.
	outdated bool
	// items are the recorded ones.
	items []*reconciler.InventoryItem
	// chunks are the intact ones that the status refers to.
	chunks chunks.Handles
	// next is the change that the next write of the status makes to the record; nil if there is none.
	next *nextRecord
	// unsaved is set if the last attempt to write the status failed.
	unsaved bool
}

// nextRecord is a change of the record that takes effect when the status is written.
type nextRecord struct {
	previous *inventory.Record
	written  chunks.Written
	// stale are the chunks that the status will no longer refer to, as they were read before the write; nil if there never were chunks.
	stale chunks.Handles
	// swept means that stale has all leftover chunks.
	swept bool
}

// Options configure the record of one component.
type Options struct {
	// Subject names the component in messages.
	Subject string
	// Deleting is set if the component is being deleted.
	Deleting bool
	// ListLimit and ChunkLimit are sizes of an inventory, in bytes of JSON. From ListLimit on it is compressed, from ChunkLimit on it is stored in
	// chunks.
	ListLimit, ChunkLimit int
	Log                   logr.Logger
	// Warn writes an event about the component.
	Warn func(reason, message string)
}

// Open returns the record of a component for one pass.
func Open(fields Fields, memory *Memory, handle *resource.Handle, places *Stores, options Options) *Record {
	for _, list := range fields.lists() {
		*list = chunks.ValidInventory(*list)
	}
	r := &Record{memory: memory, handle: handle, stores: places, fields: fields, options: options, mark: fields.takeMark()}
	r.cluster = r.mark.cluster
	r.Inherited = r.mark == mark{} && *fields.Digest != "" && len(*fields.Inventory) > 0
	return r
}

// Cluster identifies the cluster of the dependents; empty if it is not known.
func (r *Record) Cluster() string { return r.cluster }

// SetCluster changes the cluster that the next write records.
func (r *Record) SetCluster(name string) { r.cluster = name }

// NoteLoss tells the record that the component must have had an inventory. If none is recorded, it has to be rebuilt.
func (r *Record) NoteLoss() { r.lost = r.fields.isEmpty() }

// IsLost reports whether there is no record although there must have been one.
func (r *Record) IsLost() bool { return r.lost }

// IsKept reports whether the server has a record that the next process can rely on. Until then, the generation of the component must not count as
// observed.
func (r *Record) IsKept() bool { return !r.lost && !r.memory.unkept }

// Gap says why the inventory is not known and must be rebuilt; empty if it is known.
func (r *Record) Gap() string { return r.gap }

// Unsaved reports whether the last attempt to write the status failed.
func (r *Record) Unsaved() bool { return r.unsaved }

// Unlisted returns the kinds that may have unrecorded dependents.
func (r *Record) Unlisted() []reconciler.TypeInfo { return r.fields.Unlisted() }

// Clear empties the inventory. The next write records that.
func (r *Record) Clear() {
	*r.fields.Inventory, r.gap = nil, ""
	r.known, r.outdated = true, true
	r.fields.setUnlisted(nil)
}

// Keep plans how to record what the pass has changed in the inventory. It takes effect when the status is written.
func (r *Record) Keep(ctx context.Context) error {
	if r.known && r.options.Deleting && (r.fields.hasRecord() || r.lost) {
		r.recallNext()
	}
	return r.plan(ctx)
}

// SaveInventory writes an inventory along with all other changes of the status. See reconciler.Store.
func (r *Record) SaveInventory(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	*r.fields.Inventory = inventory
	err := r.plan(ctx)
	if err == nil {
		err = r.save(ctx)
	}
	r.unsaved = err != nil
	return err
}

// Save writes the status if it has changed, and completes what Keep has planned.
func (r *Record) Save(ctx context.Context) error {
	err := r.save(ctx)
	r.unsaved = err != nil
	return err
}
