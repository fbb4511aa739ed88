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
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Memory is what a process remembers about the record of one component. Losing it only costs requests. Only one pass
// uses it at a time. The zero value is ready for use.
type Memory struct {
	// recalled is an inventory that is not in the status; nil if it has not been read.
	recalled *recalled
	// swept is set once the only chunks are those that the status names. Until then, an earlier process may have left
	// others.
	swept bool
	// unpacked is set once the server has dropped a packed inventory.
	unpacked bool
	// rebuilt describes the result of this process's rebuild of the inventory; empty if there was none.
	rebuilt string
	// relisted is when kinds that could not be listed were last tried.
	relisted time.Time
}

// ForgetNote removes the note about a rebuilt inventory from future conditions.
func (m *Memory) ForgetNote() { m.rebuilt = "" }

// Record is the inventory of a component during one pass.
type Record struct {
	// Inherited means that the predecessor of this SDK has recorded the inventory, without a mark. As long as it is
	// set, writes do not add a mark, so that later passes notice it, too.
	Inherited bool
	// Cluster identifies the cluster of the dependents, as the next write records it; empty if it is not known.
	Cluster string

	memory *Memory
	handle *resource.Handle
	stores *Stores
	fields Fields
	limit  int

	// known means that the inventory in memory is complete.
	known bool
	// lost means that there is no record although there must have been one.
	lost bool
	// gap is the reason why the inventory is not known and must be rebuilt; empty if it is known.
	gap string
	// mark is the mark that the pass has read.
	mark mark
	// outdated means that the inventory must be written even if its items have not changed.
	outdated bool
	// items are the recorded items.
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
	// stale are the chunks that the status will no longer refer to, as they were read before the write; nil if there
	// never were chunks.
	stale chunks.Handles
	// swept means that stale has all leftover chunks.
	swept bool
}

// Open returns the record of a component for one pass. The limit is the size of an inventory, in bytes of JSON, from
// which on it is stored in chunks; from an eighth of it on, it is packed.
func Open(fields Fields, memory *Memory, stores *Stores, limit int) *Record {
	*fields.Inventory = chunks.ValidInventory(*fields.Inventory)
	if hooks := *fields.DeletionHooks; hooks != nil {
		hooks.Inventory = chunks.ValidInventory(hooks.Inventory)
	}
	r := &Record{memory: memory, handle: stores.Handle, stores: stores, fields: fields, limit: limit, mark: fields.takeMark()}
	r.Cluster = r.mark.cluster
	r.Inherited = r.mark == mark{} && *fields.Digest != "" && len(*fields.Inventory) > 0
	return r
}

// NoteLoss marks the record of a component that must have had an inventory as lost, if the status records no
// dependents.
func (r *Record) NoteLoss() { r.lost = r.fields.isEmpty() }

// IsLost reports whether there is no record although there must have been one.
func (r *Record) IsLost() bool { return r.lost }

// Gap returns why the inventory is not known and must be rebuilt; empty if it is known.
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

// Keep plans how to record the pass's changes of the inventory. It takes effect when the status is written.
func (r *Record) Keep(ctx context.Context) error {
	if r.known && r.isFrozen() {
		r.recallNext()
	}
	return r.plan(ctx)
}

// Save writes an inventory along with all other changes of the status. See reconciler.Store.
func (r *Record) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	*r.fields.Inventory = inventory
	if err := r.plan(ctx); err != nil {
		r.unsaved = true
		return err
	}
	return r.SaveStatus(ctx)
}

// SaveStatus writes the status if it has changed, and completes what Keep has planned.
func (r *Record) SaveStatus(ctx context.Context) error {
	status, err := r.persistent()
	changed := err == nil && !r.handle.WroteStatus(status)
	if changed {
		err = r.handle.Write(ctx, status)
	}
	if changed && err == nil && r.fields.isPacked() && !reflect.DeepEqual(r.handle.Stored(recordField), status[recordField]) {
		return r.unpack(ctx)
	}
	r.saved(ctx, changed, err)
	r.unsaved = err != nil
	return err
}

// recalled is an inventory that is not in the status.
type recalled struct {
	// checksum is that of the record; empty if the record is lost.
	checksum string
	items    []*reconciler.InventoryItem
	chunks   chunks.Handles
}

// Recall loads the inventory into the status in memory. It reads chunks once per process, and again after another
// client has written the status. If the record is lost or damaged, Gap returns the reason, and the inventory must be
// rebuilt before anything depends on it.
func (r *Record) Recall(ctx context.Context) error {
	reference, known := *r.fields.Record, r.memory.recalled
	switch {
	case r.lost && r.handle.Deleting && known != nil && known.checksum == "":
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
	list := chunks.List{Items: reference.Items, Checksum: reference.Checksum, Packed: reference.Content, Chunks: reference.Chunks}
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
	// An older version without chunks may have written a list of its own.
	r.outdated = len(*r.fields.Inventory) > 0
	*r.fields.Inventory = Union(all, *r.fields.Inventory)
	if !r.outdated {
		r.memory.recalled = &recalled{checksum: reference.Checksum, items: *r.fields.Inventory, chunks: found.Intact}
	}
	return nil
}

// persistent returns the status to write. It has no list if the inventory is stored elsewhere, or if the list would be
// mistaken for a complete one.
func (r *Record) persistent() (map[string]any, error) {
	defer r.fields.putMark(r.nextMark())()
	if r.fields.hasRecord() || r.lost {
		items := *r.fields.Inventory
		*r.fields.Inventory = nil
		defer func() { *r.fields.Inventory = items }()
	}
	return r.handle.Status()
}

// saved completes or undoes a change of the record after the status write. After a refused write, it removes new chunks
// only if the status certainly does not refer to them; after a successful one, it removes stale chunks only if the
// record has changed.
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
		r.handle.Log.Info("unused chunks of the inventory are left for a later pass", "error", err)
	}
}

// unreferenced returns the chunks that were written for a refused status and that the status on the server does not
// name. The server may have that status nevertheless: clients repeat a request with an unknown outcome, and the refusal
// may answer the second attempt.
func (r *Record) unreferenced(ctx context.Context, written chunks.Handles) chunks.Handles {
	status, err := r.handle.LiveStatus(ctx)
	if err != nil {
		return nil
	}
	raw, err := json.Marshal(status[recordField])
	var reference inventory.Record
	if err != nil || json.Unmarshal(raw, &reference) != nil {
		return nil
	}
	remaining := maps.Clone(written)
	for _, name := range reference.Chunks {
		if remaining[name].Namespace == reference.Namespace {
			delete(remaining, name)
		}
	}
	return remaining
}

// recordField is the field of the status that may take the place of the list.
const recordField = "inventoryRecord"

// Fields are the fields of a status that record the inventory.
type Fields struct {
	Inventory          *[]*reconciler.InventoryItem
	Record             **inventory.Record
	DeletionHooks      **inventory.DeletionHooks
	Digest             *string
	ObservedGeneration *int64
}

// isEmpty reports whether the status records no dependents.
func (f Fields) isEmpty() bool { return len(*f.Inventory) == 0 && !f.hasRecord() }

// Unlisted returns the kinds that may have unrecorded dependents, because they could not be listed during a rebuild.
func (f Fields) Unlisted() []reconciler.TypeInfo {
	var kinds []reconciler.TypeInfo
	for _, kind := range ptr.Deref(*f.Record, inventory.Record{}).Unlisted {
		kinds = append(kinds, reconciler.TypeInfo(kind))
	}
	return kinds
}

// setUnlisted replaces the kinds that may have unrecorded dependents.
func (f Fields) setUnlisted(kinds []reconciler.TypeInfo) {
	if len(kinds) == 0 && *f.Record == nil {
		return
	}
	changed := ptr.Deref(*f.Record, inventory.Record{Inline: true})
	changed.Unlisted = nil
	for _, kind := range kinds {
		changed.Unlisted = append(changed.Unlisted, inventory.UnlistedKind(kind))
	}
	*f.Record = &changed
}

// KindTexts formats kinds for messages.
func KindTexts(kinds []reconciler.TypeInfo) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = schema.GroupKind(kind).String()
	}
	return outcomes.Join(names, ", ")
}

// hasRecord reports whether the inventory is in the record, packed or in chunks, rather than in the list.
func (f Fields) hasRecord() bool { return *f.Record != nil && !(*f.Record).Inline }

func (f Fields) isPacked() bool { return f.hasRecord() && len((*f.Record).Content) > 0 }

// chunkNamespace returns the namespace that has, or had, chunks; empty if there is none.
func (f Fields) chunkNamespace() string {
	return ptr.Deref(*f.Record, inventory.Record{}).Namespace
}

// maxCompleted is the maximum number of purged dependents that the status records.
const maxCompleted = 100

// newRecord returns the record of a list of items.
func newRecord(list chunks.List, items []*reconciler.InventoryItem) *inventory.Record {
	return &inventory.Record{Items: list.Items, Checksum: list.Checksum, Content: list.Packed, Chunks: list.Chunks, Kinds: Kinds(items)}
}

// refer returns a record that refers to the chunks of a list.
func (f Fields) refer(list chunks.List) *inventory.Record {
	reference := newRecord(list, *f.Inventory)
	reference.Unlisted = ptr.Deref(*f.Record, inventory.Record{}).Unlisted
	for _, item := range *f.Inventory {
		if item.Phase == reconciler.PhaseCompleted && len(reference.Completed) < maxCompleted {
			reference.Completed = append(reference.Completed, inventory.CompletedDependent{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo, Digest: item.Digest})
		}
	}
	return reference
}

// completed returns the purged dependents of a record as items.
func completed(record *inventory.Record) []*reconciler.InventoryItem {
	list := make([]*reconciler.InventoryItem, len(record.Completed))
	for i, completed := range record.Completed {
		list[i] = &reconciler.InventoryItem{
			TypeVersionInfo: completed.TypeVersionInfo, NameInfo: completed.NameInfo, Digest: completed.Digest, Phase: reconciler.PhaseCompleted,
		}
	}
	return list
}

// The status records the number of dependents and a checksum of their names. So an inventory that a user has emptied or
// shortened, or that a definition without inventoryRecord has dropped, is not mistaken for a complete one. This mark
// follows the digest in status.processingDigest, a field that every definition has, and is part of the write that
// changes the inventory. Operators without support for the mark overwrite it when they process the component, because
// it does not look like their digest. They do not count that as a new revision, which depends on
// status.lastProcessingDigest.

// mark is the text after the digest.
type mark struct {
	// inventory is the number of dependents and the checksum of their names; empty if there are none, or if the
	// inventory is not known.
	inventory string
	// cluster identifies the cluster of the dependents.
	cluster string
}

// inventoryMark returns the mark for the inventory in this status.
func (f Fields) inventoryMark() string {
	if !f.hasRecord() {
		return Mark(*f.Inventory)
	}
	record := *f.Record
	return strconv.Itoa(record.Items) + ":" + record.Checksum[:min(len(record.Checksum), MarkLength)]
}

// takeMark removes the mark from the digest and returns it.
func (f Fields) takeMark() (found mark) {
	*f.Digest, found.inventory, _ = strings.Cut(*f.Digest, MarkSeparator)
	found.inventory, found.cluster, _ = strings.Cut(found.inventory, ClusterSeparator)
	return found
}

// putMark appends a mark to the digest. The returned function undoes that.
func (f Fields) putMark(next mark) (undo func()) {
	digest := *f.Digest
	if digest != "" && next.inventory != "" {
		*f.Digest += MarkSeparator + next.inventory
		if next.cluster != "" {
			*f.Digest += ClusterSeparator + next.cluster
		}
	}
	return func() { *f.Digest = digest }
}

// nextMark returns the mark for the next write. While the inventory is not known, the recorded mark stays; an inherited
// one has none.
func (r *Record) nextMark() mark {
	if !r.known || r.lost || r.Inherited {
		return r.mark
	}
	return mark{inventory: r.fields.inventoryMark(), cluster: r.Cluster}
}
