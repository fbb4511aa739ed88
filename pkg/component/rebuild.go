// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// rebuild completes an inventory that is not known, or not completely, by the labels of dependents. The objects are those that
// are wanted; there are none while the component is being deleted.
func (w *worker) rebuild(ctx context.Context, s *scope, objects []client.Object) error {
	if s.record.gap == "" && !w.mustListAgain(s) {
		return nil
	}
	request := reconciler.RebuildRequest{
		ID:         s.ownerID,
		Known:      s.status.Inventory,
		Objects:    objects,
		Types:      s.lostTypes(),
		Namespaces: namespacesOf(s, objects),
		Policies:   s.settings.policies,
	}
	result, err := s.target.engine.Rebuild(ctx, request)
	if err == nil && s.record.gap != "" && len(result.Inventory) < items.Marked(s.record.mark.inventory) {
		// They may be of kinds that nobody has recorded, and that are not wanted any more.
		request.Types = []reconciler.TypeVersionInfo{anyType}
		result, err = s.target.engine.Rebuild(ctx, request)
	}
	if err != nil {
		return fmt.Errorf("rebuilding the inventory: %w", err)
	}
	s.memory.relisted = w.options.Clock.Now()
	s.status.Inventory = result.Inventory
	s.record.known, s.record.outdated = true, true
	s.status.setUnlisted(result.Unlisted)
	w.announceRebuild(s, result)
	s.record.gap = ""
	if s.record.lost && !s.deleting {
		s.record.lost = false
		s.status.ObservedGeneration = s.component.GetGeneration()
	}
	return nil
}

// mustListAgain reports whether it is time to try kinds again that could not be listed.
func (w *worker) mustListAgain(s *scope) bool {
	return len(s.status.unlisted()) > 0 && (s.deleting || w.options.Clock.Since(s.memory.relisted) >= s.settings.timing.requeue)
}

// anyType stands for all types that the cluster has.
var anyType = reconciler.TypeVersionInfo{Group: "*", Version: "*", Kind: "*"}

// lostTypes are the types among which missing items must be, beside those of the wanted objects.
func (s *scope) lostTypes() []reconciler.TypeVersionInfo {
	var kinds []reconciler.TypeVersionInfo
	if s.record.gap != "" && s.status.InventoryRecord != nil {
		kinds = append(kinds, s.status.InventoryRecord.Kinds...)
	}
	if s.record.gap != "" && (s.deleting || s.next != nil) && len(kinds) == 0 {
		return []reconciler.TypeVersionInfo{anyType}
	}
	for _, kind := range s.status.unlisted() {
		kinds = append(kinds, reconciler.TypeVersionInfo{Group: kind.Group, Version: anyType.Version, Kind: kind.Kind})
	}
	return kinds
}

// namespacesOf returns the namespaces in which there may be dependents.
func namespacesOf(s *scope, objects []client.Object) []string {
	found := map[string]bool{s.key.Namespace: true, s.settings.namespace: true}
	for _, object := range objects {
		found[object.GetNamespace()] = true
	}
	for _, item := range s.status.Inventory {
		found[item.Namespace] = true
	}
	delete(found, "")
	namespaces := make([]string, 0, len(found))
	for namespace := range found {
		namespaces = append(namespaces, namespace)
	}
	slices.Sort(namespaces)
	return namespaces
}

// announceRebuild tells what was found, by an event now, and in the conditions as long as this process works on what is declared
// now. That an inventory was lost which was empty is nobody's concern.
func (w *worker) announceRebuild(s *scope, result reconciler.RebuildResult) {
	if s.record.gap == "" && result.Found == 0 || s.record.lost && result.Found == 0 && len(result.Unlisted) == 0 {
		return
	}
	note := fmt.Sprintf("the inventory was rebuilt from labels, %s found", texts.Dependents(result.Found))
	if s.record.gap != "" {
		note = fmt.Sprintf("the inventory was rebuilt from labels because %s, %s found", s.record.gap, texts.Dependents(result.Found))
		if reference := s.status.InventoryRecord; s.record.lost || reference == nil || s.status.recordForm() != formChunks || len(reference.Completed) == maxCompleted {
			note += "; purged ones (completed Jobs, say) cannot be found and may run again"
		}
	}
	s.memory.rebuilt = note
	message := note
	if len(result.Unlisted) > 0 {
		message += "; not listed: " + kindTexts(result.Unlisted)
	}
	s.log.Info("the inventory was rebuilt", "details", message)
	w.warn(s, "InventoryRebuilt", texts.Bound(message))
}

// rebuildNote is what conditions say about an inventory that was rebuilt.
func (w *worker) rebuildNote(s *scope) string {
	note := ""
	if s.memory.rebuilt != "" {
		note = "; " + s.memory.rebuilt
	}
	if unlisted := s.status.unlisted(); len(unlisted) > 0 {
		note += "; there may be dependents that are not known, because these kinds cannot be listed: " + kindTexts(unlisted)
	}
	return note
}

// rebuildForDeletion completes the inventory of a component that is being deleted.
func (w *worker) rebuildForDeletion(ctx context.Context, s *scope) outcome {
	if s.target == nil || s.dependentsGone() {
		return proceed
	}
	return w.unreachable(ctx, s, w.rebuild(ctx, s, nil))
}

// checkUnlisted holds the deletion back as long as there may be dependents of which nobody knows.
func (w *worker) checkUnlisted(_ context.Context, s *scope) outcome {
	unlisted := s.status.unlisted()
	if len(unlisted) == 0 || s.abandoned {
		return proceed
	}
	if !w.isAbandoned(s) {
		message := fmt.Sprintf("there may be dependents left; permit the operator to list what it cannot, or set the annotation %s to \"true\" to leave behind what is there",
			w.abandonAnnotation())
		return outcome{kind: outcomeRetriable, message: message, retryAfter: new(missingReferenceDelay)}
	}
	s.abandoned = true
	s.log.Info("dependents may be left behind", "kinds", kindTexts(unlisted))
	w.events.Event(w.metadataOnly(s), corev1.EventTypeWarning, "Abandoned",
		texts.Bound("there may be dependents left behind of these kinds, which cannot be listed: "+kindTexts(unlisted)))
	return proceed
}

// mayHaveChunks reports whether there are, or were, chunks.
func (s *scope) mayHaveChunks() bool {
	reference := s.status.InventoryRecord
	return s.record.lost || reference != nil && (s.status.recordForm() != formPacked || reference.Namespace != "")
}

// removeRecord removes all chunks. Before, the status says that nothing is left: that chunks are missing then is no loss.
func (w *worker) removeRecord(ctx context.Context, s *scope) outcome {
	reference := s.status.InventoryRecord
	if !s.mayHaveChunks() {
		return proceed
	}
	if s.status.recordForm() == formChunks {
		s.status.InventoryRecord = &InventoryRecord{Inline: true, Namespace: reference.Namespace, PreviousNamespace: reference.PreviousNamespace}
		s.status.Inventory = nil
		if err := w.save(ctx, s); err != nil {
			return outcomeOf(fmt.Errorf("recording that nothing is left: %w", err))
		}
	}
	found, err := w.listPlaced(ctx, s, chunks.ConfigMap, reference.namespaces()...)
	if err != nil {
		return outcomeOf(fmt.Errorf("removing the inventory: %w", err))
	}
	complete, err := w.removePlaced(ctx, s, chunks.ConfigMap, found)
	switch {
	case err != nil:
		return outcomeOf(fmt.Errorf("removing the inventory: %w", err))
	case !complete:
		return outcome{kind: outcomeRetriable, message: "chunks of the inventory are held by others, or are being changed by them", retryAfter: new(firstBackoff)}
	}
	return proceed
}
