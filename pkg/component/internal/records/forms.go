// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
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

// Stores give access to the ConfigMaps and Secrets of one component.
type Stores struct {
	Handle *resource.Handle
	// StateNamespace is the namespace for the objects of cluster-scoped components; may be empty.
	StateNamespace string
}

// Namespace returns the namespace of the objects; empty for a cluster-scoped component without a state namespace.
func (s *Stores) Namespace() string {
	return cmp.Or(s.Handle.Key.Namespace, s.StateNamespace)
}

// Trusts reports whether objects of the component may be in the namespace that a status names. The status alone is not
// enough: a user who may write it must not make the operator read or delete objects elsewhere.
func (s *Stores) Trusts(namespace string) bool {
	return namespace != "" && namespace == s.Namespace()
}

// CheckNamespace returns an error if the namespace that a field of the status names is not trusted.
func (s *Stores) CheckNamespace(field, namespace string) error {
	switch {
	case s.Trusts(namespace):
		return nil
	case s.Handle.Key.Namespace != "":
		return fmt.Errorf("%s is %q; must be %q, the namespace of the component", field, namespace, s.Handle.Key.Namespace)
	default:
		return fmt.Errorf("%s is %q; must be %q, the operator's StateNamespace", field, namespace, s.StateNamespace)
	}
}

// Of returns the store for objects of a kind.
func (s *Stores) Of(kind chunks.Kind) *chunks.Store {
	label := manifest.OwnerLabel(s.Handle.OwnerID)
	prefix := "inventory-"
	if kind == chunks.Secret {
		prefix = "deletion-hooks-"
	}
	return chunks.NewStore(chunks.Options{
		Kind:        kind,
		Client:      s.Handle.Writer(),
		Reader:      s.Handle.Live(),
		Namespace:   s.Namespace(),
		Prefix:      prefix + label[:20],
		Labels:      map[string]string{s.Handle.Reconciler + "/" + types.LabelKeySuffixInventoryOwnerId: label},
		Annotations: map[string]string{s.Handle.Reconciler + "/" + types.AnnotationKeySuffixOwnerId: s.Handle.OwnerID},
		ClaimKey:    s.Handle.Reconciler + "/" + types.AnnotationKeySuffixClaimedAt,
		Finalizer:   annotations.InventoryFinalizer(s.Handle.Reconciler),
		FieldOwner:  s.Handle.FieldOwner(),
	})
}

// List finds all objects of a kind that belong to the component. Without the permission to list them, there are none,
// unless the status names their namespace.
func (s *Stores) List(ctx context.Context, kind chunks.Kind, recorded string) (chunks.Handles, error) {
	if s.Namespace() == "" {
		return nil, nil
	}
	found, err := s.Of(kind).List(ctx)
	if apierrors.IsForbidden(err) && !s.Trusts(recorded) {
		// An operator that may not list a namespace has probably not written there.
		return nil, nil
	}
	return found, err
}

// RemoveAll removes all objects of a kind that belong to the component, and reports whether none is left.
func (s *Stores) RemoveAll(ctx context.Context, kind chunks.Kind, recorded string) (complete bool, err error) {
	found, err := s.List(ctx, kind, recorded)
	if err != nil {
		return false, err
	}
	return s.Of(kind).Remove(ctx, found)
}

// Kinds returns the types of all items, sorted.
func Kinds(inventory []*reconciler.InventoryItem) []reconciler.TypeVersionInfo {
	found := map[reconciler.TypeVersionInfo]bool{}
	for _, item := range inventory {
		found[item.TypeVersionInfo] = true
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b reconciler.TypeVersionInfo) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
}

// Same reports whether two inventories are equal, in any order.
func Same(a, b []*reconciler.InventoryItem) bool {
	if len(a) != len(b) {
		return false
	}
	var byKey map[types.ObjectID]*reconciler.InventoryItem
	for i, item := range b {
		other := a[i]
		if byKey == nil && types.IDOf(item) != types.IDOf(other) {
			byKey = Index(a)
		}
		if byKey != nil {
			other = byKey[types.IDOf(item)]
		}
		if other == nil || !SameItem(other, item) {
			return false
		}
	}
	return true
}

// Index returns items by object.
func Index(items []*reconciler.InventoryItem) map[types.ObjectID]*reconciler.InventoryItem {
	byKey := make(map[types.ObjectID]*reconciler.InventoryItem, len(items))
	for _, item := range items {
		byKey[types.IDOf(item)] = item
	}
	return byKey
}

// SameItem compares all fields of two items; times in recorded precision.
func SameItem(a, b *reconciler.InventoryItem) bool {
	one, other := *a, *b
	one.LastAppliedAt, other.LastAppliedAt = nil, nil
	return sameTime(a.LastAppliedAt, b.LastAppliedAt) && equality.Semantic.DeepEqual(one, other)
}

func sameTime(a, b *metav1.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Unix() == b.Unix()
}

// HasGrown reports whether there are items that the earlier inventory lacks.
func HasGrown(before, now []*reconciler.InventoryItem) bool {
	byKey := Index(before)
	return slices.ContainsFunc(now, func(item *reconciler.InventoryItem) bool { return byKey[types.IDOf(item)] == nil })
}

// Union returns the items of both lists. If both have an item, it returns that of the second list.
func Union(first, second []*reconciler.InventoryItem) []*reconciler.InventoryItem {
	if len(first) == 0 {
		return second
	}
	if len(second) == 0 {
		return first
	}
	newer := Index(second)
	kept := slices.DeleteFunc(slices.Clone(first), func(item *reconciler.InventoryItem) bool { return newer[types.IDOf(item)] != nil })
	return append(kept, second...)
}

const (
	MarkSeparator    = ";inventory="
	ClusterSeparator = ";cluster="
	// MarkLength is the number of hexadecimal digits of a checksum. It protects against mistakes, not against forgery.
	MarkLength = 16
)

// Mark returns the mark of a list of dependents; empty for an empty list.
func Mark(items []*reconciler.InventoryItem) string {
	if len(items) == 0 {
		return ""
	}
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Group + "/" + item.Kind + "/" + item.Namespace + "/" + item.Name
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return strconv.Itoa(len(items)) + ":" + hex.EncodeToString(sum[:])[:MarkLength]
}

// Mismatch describes how a list differs from the one with the recorded mark; empty if it does not, or if there is no
// mark.
func Mismatch(recorded string, items []*reconciler.InventoryItem) string {
	if recorded == "" || recorded == Mark(items) {
		return ""
	}
	count := Marked(recorded)
	if len(items) == 0 {
		return fmt.Sprintf("status.inventory was empty although %s had been recorded", outcomes.Dependents(count))
	}
	return fmt.Sprintf("status.inventory, with %s, was not the list that had been recorded, with %d", outcomes.Dependents(len(items)), count)
}

// Marked returns the number of dependents in a mark.
func Marked(recorded string) int {
	text, _, _ := strings.Cut(recorded, ":")
	count, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return count
}
