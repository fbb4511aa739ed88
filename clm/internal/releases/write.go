// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// writing updates a record from its known state to a new one.
type writing struct {
	*Store
	// chunks of the release.
	chunks *chunks.Store
	// known is the state of the record in the cluster, as far as it is known. Each successful request updates it.
	known *stored

	namespace, name string
	// next is the new index.
	next index
	// contents of the chunks to which the next index refers and that may be missing.
	contents [][]byte
	// hold determines which Secrets have the finalizer afterwards.
	hold hold
}

// run writes first the chunks, then the index, and then removes unused chunks.
//
// The index has the finalizer before the first chunk gets it, and until the last one has lost it: a chunk that outlives
// its namespace without an index could not be removed.
func (w *writing) run(ctx context.Context) error {
	w.next.stamp(w.present(), w.known.index.State)
	raw, err := w.next.encode()
	if err != nil {
		return err
	}
	all, trusted, err := w.look(ctx)
	if err != nil {
		return err
	}
	if ancestor := w.known.index.TakenOver; ancestor != nil {
		if err := w.removeAncestor(ctx, w.namespace, w.name, ancestor); err != nil {
			return err
		}
	}
	if trusted, err = w.holdAll(ctx, trusted); err != nil {
		return err
	}
	written, err := w.chunks.Write(ctx, w.contents, w.intact(trusted))
	if err != nil {
		return err
	}
	if w.known.uid == "" {
		err = w.createIndex(ctx, raw)
	} else {
		err = w.patchIndex(ctx, raw, !anyHeld(all) && !anyHeld(trusted))
	}
	if err != nil {
		return err
	}
	w.known.raw, w.known.index, w.known.ancestor = raw, w.next, nil
	w.sweep(ctx, all, trusted, written)
	if !w.hold.index && w.known.held() && w.known.swept && !anyHeld(w.known.chunks) {
		// If it fails, a later write does it.
		_ = w.patchFinalizers(ctx, w.known.foreign())
	}
	return nil
}

// holdAll adds finalizers to existing Secrets, first to the index. It returns the chunks in their new state.
func (w *writing) holdAll(ctx context.Context, trusted chunks.Handles) (chunks.Handles, error) {
	if w.known.uid == "" || w.known.deleting || len(w.hold.chunks) == 0 {
		// While an object is being deleted, it gets no new finalizers.
		return trusted, nil
	}
	if !w.known.held() {
		if err := w.patchFinalizers(ctx, append(w.known.foreign(), finalizer)); err != nil {
			return nil, w.refusal(err)
		}
	}
	held, err := w.chunks.Hold(ctx, trusted)
	trusted = maps.Clone(trusted)
	maps.Copy(trusted, held)
	return trusted, err
}

// refusal returns the error for a failed write to the index.
func (w *writing) refusal(err error) error {
	if apiserver.IsOutdated(err) || apierrors.IsNotFound(err) {
		return ErrOutdated
	}
	return fmt.Errorf("updating Secret %s/%s: %w", w.namespace, prefix+w.name, err)
}

// look returns all known chunks, and those that certainly exist: the index that guards the write refers to them. It
// lists chunks only once, to find those that earlier processes have left behind.
func (w *writing) look(ctx context.Context) (all, trusted chunks.Handles, err error) {
	if w.known.swept {
		return w.known.chunks, w.known.chunks, nil
	}
	if all, err = w.chunks.List(ctx); err != nil {
		return nil, nil, err
	}
	trusted = chunks.Handles{}
	maps.Copy(trusted, w.known.chunks)
	for _, name := range w.known.index.contentNames() {
		if handle, exists := all[name]; exists {
			trusted[name] = handle
		}
	}
	return all, trusted, nil
}

// intact returns the chunks that need not be checked before they are referred to again. They do not include contents of
// revisions, which were not read.
func (w *writing) intact(trusted chunks.Handles) chunks.Handles {
	intact := maps.Clone(trusted)
	for _, name := range w.known.index.contentNames() {
		delete(intact, name)
	}
	return intact
}

// sweep removes the chunks to which the index no longer refers. A later write removes those that cannot be removed now.
func (w *writing) sweep(ctx context.Context, all, trusted chunks.Handles, written chunks.Written) {
	names := sets.New(w.known.index.inventoryNames()...).Insert(w.known.index.contentNames()...)
	stale := maps.Clone(all)
	maps.DeleteFunc(stale, func(name string, _ chunks.Handle) bool { return names.Has(name) })
	needed := maps.Clone(trusted)
	maps.Copy(needed, written.All)
	maps.DeleteFunc(needed, func(name string, _ chunks.Handle) bool { return !names.Has(name) })
	w.known.chunks = needed
	complete, err := w.chunks.Remove(ctx, stale)
	released, letErr := w.chunks.LetGo(ctx, needed)
	maps.Copy(needed, released)
	w.known.swept = complete && err == nil && letErr == nil
}

// createIndex creates the Secret of a release that does not have one.
func (w *writing) createIndex(ctx context.Context, raw []byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: prefix + w.name, Labels: w.next.labels(),
		},
		Type: SecretType,
		Data: map[string][]byte{dataKey: raw},
	}
	if w.hold.index {
		secret.Finalizers = []string{finalizer}
	}
	err := w.client.Create(ctx, secret, client.FieldOwner(ReconcilerName))
	if apierrors.IsAlreadyExists(err) {
		return ErrOutdated
	}
	if err != nil {
		return fmt.Errorf("creating Secret %s/%s: %w", w.namespace, prefix+w.name, err)
	}
	w.known.took(secret)
	return nil
}

// patchIndex changes the Secret of a release if it is still the one that was read. It may remove the finalizer only if
// loose is set: no chunk has it.
func (w *writing) patchIndex(ctx context.Context, raw []byte, loose bool) error {
	metadata := map[string]any{"labels": labelPatch(w.known.index.labels(), w.next.labels())}
	switch {
	case w.hold.index && !w.known.held() && !w.known.deleting:
		metadata["finalizers"] = append(w.known.foreign(), finalizer)
	case !w.hold.index && w.known.held() && loose:
		metadata["finalizers"] = w.known.foreign()
	}
	err := w.patch(ctx, map[string]any{"metadata": metadata, "data": map[string]any{dataKey: raw}})
	if err != nil {
		return w.refusal(err)
	}
	return nil
}

// labelPatch returns a merge patch that turns labels into others. Labels that other clients have set stay.
func labelPatch(from, to map[string]string) map[string]any {
	patch := map[string]any{}
	for key := range from {
		patch[key] = nil
	}
	for key, value := range to {
		patch[key] = value
	}
	return patch
}

func (w *writing) patchFinalizers(ctx context.Context, finalizers []string) error {
	return w.patch(ctx, map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
}

// patch changes the Secret of a release, guarded by its known UID and resource version.
func (w *writing) patch(ctx context.Context, body map[string]any) error {
	patch, err := apiserver.MergePatch(w.known.uid, w.known.resourceVersion, body)
	if err != nil {
		return err
	}
	object := metadataNamed("Secret", w.namespace, prefix+w.name)
	err = w.client.Patch(ctx, object, patch, client.FieldOwner(ReconcilerName))
	if apiserver.IsOutdated(err) && w.marked(ctx) {
		return w.patch(ctx, body)
	}
	if err == nil {
		w.known.took(object)
	}
	return err
}

// marked reports whether the only change of the Secret of a release is that its deletion was requested, for example
// with its namespace. If so, it updates the known state, so that this happens only once.
func (w *writing) marked(ctx context.Context) bool {
	secret := &corev1.Secret{}
	err := w.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: prefix + w.name}, secret)
	if err != nil || w.known.deleting || secret.DeletionTimestamp == nil || secret.UID != w.known.uid || !bytes.Equal(secret.Data[dataKey], w.known.raw) {
		return false
	}
	w.known.took(secret)
	return true
}

// hold is the set of parts of a record with the finalizer, which outlive the deletion of their namespace. A chunk has
// it only if the index does.
type hold struct {
	index  bool
	chunks sets.Set[string]
}

// decideHold holds the parts of the record that must outlive the namespace: the inventories, if any dependent is
// outside of it, and the content of the current revision, if it has deletion hooks, which clm delete must run or skip.
// All other parts are deleted with the namespace. Once a release is being deleted, the parts stay held until the record
// is removed, so that the deletion can be completed.
func decideHold(next index, outside, held bool) hold {
	decided := hold{index: outside, chunks: sets.New[string]()}
	if outside {
		decided.chunks.Insert(next.inventoryNames()...)
	}
	if count := len(next.Revisions); count > 0 && next.Revisions[count-1].DeletionHooks > 0 {
		decided.index = true
		decided.chunks.Insert(next.Revisions[count-1].Chunks...)
	}
	if next.State == StateDeleting {
		decided.index = decided.index || held
	}
	return decided
}

// Outside reports whether the release has recorded an object that would outlive its namespace: one in another namespace
// or in none. Its own namespace and completed objects do not count.
func (r *Release) Outside() bool { return len(r.Beyond()) > 0 }

// Beyond returns the recorded objects because of which Outside is true.
func (r *Release) Beyond() []*reconciler.InventoryItem {
	return slices.DeleteFunc(slices.Concat(r.Inventory, r.HookInventory, r.TestInventory), func(item *reconciler.InventoryItem) bool {
		own := item.Group == "" && item.Kind == "Namespace" && item.Name == r.Namespace
		return item.Namespace == r.Namespace || own || item.Phase == reconciler.PhaseCompleted
	})
}

// Awaited reports whether the deletion of the record was requested, for example with its namespace, but its finalizer
// holds it until the release is deleted.
func (r *Release) Awaited() bool { return r.stored.deleting && r.stored.held() }

func (s *stored) held() bool { return slices.Contains(s.finalizers, finalizer) }

// foreign returns the finalizers of the index that are not ours.
func (s *stored) foreign() []string {
	return slices.DeleteFunc(append([]string{}, s.finalizers...), func(name string) bool { return name == finalizer })
}

// anyHeld reports whether one of the chunks has the finalizer.
func anyHeld(handles chunks.Handles) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(handles)), func(handle chunks.Handle) bool { return handle.Held })
}
