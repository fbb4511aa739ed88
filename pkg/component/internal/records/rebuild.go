// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// RebuildRequest describes a search for unrecorded dependents.
type RebuildRequest struct {
	// RebuildRequest is the request to the engine, without types. It has no objects if all dependents will be deleted.
	reconciler.RebuildRequest

	// Find makes the request.
	Find func(ctx context.Context, request reconciler.RebuildRequest) (reconciler.RebuildResult, error)
	// Now is the current time.
	Now time.Time
	// Leaving is set if all dependents will be deleted, so that Objects does not show their types.
	Leaving bool
	// Generation of the component. It counts as observed once the inventory is complete.
	Generation int64
}

// NeedsRebuild reports whether the inventory has gaps, or it is time to retry kinds that could not be listed. They are
// listed again after the interval.
func (r *Record) NeedsRebuild(now time.Time, interval time.Duration) bool {
	return r.gap != "" || len(r.fields.Unlisted()) > 0 && (r.handle.Deleting || now.Sub(r.memory.relisted) >= interval)
}

// Rebuild completes an inventory by finding dependents by their labels.
func (r *Record) Rebuild(ctx context.Context, request RebuildRequest) error {
	search := request.RebuildRequest
	search.Types = r.lostTypes(request.Leaving)
	result, err := request.Find(ctx, search)
	if err == nil && r.gap != "" && len(result.Inventory) < Marked(r.mark.inventory) {
		// The missing dependents may have kinds that are neither recorded nor generated any more.
		search.Types = []reconciler.TypeVersionInfo{anyType}
		result, err = request.Find(ctx, search)
	}
	if err != nil {
		return fmt.Errorf("rebuilding the inventory: %w", err)
	}
	r.memory.relisted = request.Now
	*r.fields.Inventory = result.Inventory
	r.known, r.outdated = true, true
	r.fields.setUnlisted(result.Unlisted)
	r.announce(result)
	r.gap = ""
	if r.lost && !r.handle.Deleting {
		r.lost = false
		*r.fields.ObservedGeneration = request.Generation
	}
	return nil
}

// anyType stands for all types of the cluster.
var anyType = reconciler.TypeVersionInfo{Group: "*", Version: "*", Kind: "*"}

// maxKinds is the maximum number of recorded kinds that are listed one by one. A record with more of them was forged to
// cause requests.
const maxKinds = 1000

// lostTypes returns the types that missing items may have, besides those of the generated objects.
func (r *Record) lostTypes(leaving bool) []reconciler.TypeVersionInfo {
	var kinds []reconciler.TypeVersionInfo
	if record := *r.fields.Record; r.gap != "" && record != nil {
		kinds = append(kinds, record.Kinds...)
	}
	if r.gap != "" && leaving && len(kinds) == 0 || len(kinds) > maxKinds {
		return []reconciler.TypeVersionInfo{anyType}
	}
	for _, kind := range r.fields.Unlisted() {
		kinds = append(kinds, reconciler.TypeVersionInfo{Group: kind.Group, Version: anyType.Version, Kind: kind.Kind})
	}
	return kinds
}

// announce reports the result of a rebuild: in an event, and in conditions until the spec changes. A lost inventory
// that was empty is not worth a report.
func (r *Record) announce(result reconciler.RebuildResult) {
	if r.gap == "" && result.Found == 0 || r.lost && result.Found == 0 && len(result.Unlisted) == 0 {
		return
	}
	note := fmt.Sprintf("the inventory was rebuilt from labels, %s found", outcomes.Dependents(result.Found))
	if r.gap != "" {
		note = fmt.Sprintf("the inventory was rebuilt from labels because %s, %s found", r.gap, outcomes.Dependents(result.Found))
		if r.lost || !r.fields.hasRecord() || len((*r.fields.Record).Completed) == maxCompleted {
			note += "; purged dependents (such as completed Jobs) cannot be found, and may run again"
		}
	}
	r.memory.rebuilt = note
	message := note
	if len(result.Unlisted) > 0 {
		message += "; not listed: " + KindTexts(result.Unlisted)
	}
	r.handle.Log.Info("the inventory was rebuilt", "details", message)
	r.handle.Warn("InventoryRebuilt", message)
}

// Note returns the addition to conditions about a rebuilt inventory and kinds that could not be listed; empty if there
// is none.
func (r *Record) Note() string {
	note := ""
	if r.memory.rebuilt != "" {
		note = "; " + r.memory.rebuilt
	}
	if unlisted := r.fields.Unlisted(); len(unlisted) > 0 {
		note += "; dependents of these kinds may be unrecorded, because they cannot be listed: " + KindTexts(unlisted)
	}
	return note
}

// Remove deletes all chunks, and reports whether none is left. It first writes a status that records no dependents, so
// that a missing chunk is no loss.
func (r *Record) Remove(ctx context.Context) (complete bool, err error) {
	reference, namespace := *r.fields.Record, r.fields.chunkNamespace()
	if !r.lost && reference == nil {
		return true, nil // there were none
	}
	if r.fields.hasRecord() {
		*r.fields.Record = &inventory.Record{Inline: true, Namespace: reference.Namespace}
		*r.fields.Inventory = nil
		if err := r.SaveStatus(ctx); err != nil {
			return false, fmt.Errorf("recording that nothing is left: %w", err)
		}
	}
	return r.stores.RemoveAll(ctx, chunks.ConfigMap, namespace)
}

// proofSeparator separates the valid checksum from the former one, which the status may still refer to.
const proofSeparator = ","

// proof is the suffix of the annotation with the confirmed checksums.
const proof = types.AnnotationKeySuffixDeletionHooksChecksum

// prove makes the annotation confirm a checksum. The one that the status refers to stays confirmed, because the process
// may die before it changes the status.
func (h *Hooks) prove(ctx context.Context, checksum string) error {
	current, _, _ := strings.Cut(h.handle.Annotation(proof), proofSeparator)
	if current == checksum {
		return nil
	}
	value := checksum
	if recorded := *h.field; recorded != nil && current != "" && recorded.Checksum == current {
		value += proofSeparator + current
	}
	if err := h.handle.Annotate(ctx, proof, value); err != nil {
		return fmt.Errorf("confirming deletion hooks: %w", err)
	}
	return nil
}

// dropProof removes the annotation of a component without hooks.
func (h *Hooks) dropProof(ctx context.Context) error {
	if h.handle.Annotation(proof) == "" {
		return nil
	}
	if err := h.handle.Annotate(ctx, proof, nil); err != nil {
		return fmt.Errorf("removing the confirmation of deletion hooks: %w", err)
	}
	return nil
}

// lacksProof returns why the hooks that the status refers to cannot be trusted; empty if they can be.
func (h *Hooks) lacksProof() string {
	reference := *h.field
	// The checksum of nothing means that there are no hooks.
	if reference.Checksum == chunks.Checksum(nil) || slices.Contains(strings.Split(h.handle.Annotation(proof), proofSeparator), reference.Checksum) {
		return ""
	}
	return fmt.Sprintf("the annotation %s of the component does not confirm the hooks in the Secrets that status.deletionHooks names; check them, and if you trust them, set it to %s",
		h.handle.AnnotationKey(proof), reference.Checksum)
}

// WithoutProof returns the annotations without the confirmation, which follows from the generated objects.
func WithoutProof(annotations map[string]string, reconciler string) map[string]string {
	others := maps.Clone(annotations)
	delete(others, reconciler+"/"+proof)
	return others
}
