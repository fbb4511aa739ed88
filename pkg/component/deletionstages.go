// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// deletionStages are all stages in their order.
var deletionStages = []DeletionStage{
	"", DeletionStagePreDelete, DeletionStagePreDeleteCleanup, DeletionStageDependents, DeletionStagePostDelete, DeletionStagePostDeleteCleanup, DeletionStageDone,
}

// reached tells whether the deletion has come to a stage, or passed it. A stage that is not known counts as none.
func (h *DeletionHooks) reached(stage DeletionStage) bool {
	return slices.Index(deletionStages, h.Stage) >= slices.Index(deletionStages, stage)
}

// hookTime is a time at which deletion hooks are applied, with the stages that it consists of, and the one that follows.
type hookTime struct {
	hook                   string
	applying, cleanup, end DeletionStage
}

var (
	preDelete  = hookTime{types.DeletionHookPreDelete, DeletionStagePreDelete, DeletionStagePreDeleteCleanup, DeletionStageDependents}
	postDelete = hookTime{types.DeletionHookPostDelete, DeletionStagePostDelete, DeletionStagePostDeleteCleanup, DeletionStageDone}
)

// dependentsGone tells whether it is recorded that no dependent is left. What the record of the inventory has nevertheless, because
// it stays as it is during a deletion, is not looked at again: a post-delete hook may have the name of a dependent.
func (s *scope) dependentsGone() bool {
	return s.deleting && s.status.DeletionHooks != nil && s.status.DeletionHooks.reached(DeletionStagePostDelete)
}

// awaitsHooks tells whether there are deletion hooks that are to be applied, or awaited.
func (w *worker) awaitsHooks(s *scope) bool {
	record := s.status.DeletionHooks
	return record != nil && record.Objects > 0 && !record.reached(DeletionStagePostDeleteCleanup) && !w.skipsHooks(s)
}

func (w *worker) runPreDeleteHooks(ctx context.Context, s *scope) outcome {
	if s.status.DeletionHooks == nil && s.record.lost && s.target != nil && len(s.status.Inventory) > 0 {
		return w.checkLostHooks(ctx, s)
	}
	return w.runDeletionHooks(ctx, s, preDelete)
}

func (w *worker) runPostDeleteHooks(ctx context.Context, s *scope) outcome {
	return w.runDeletionHooks(ctx, s, postDelete)
}

// runDeletionHooks applies hooks, waits until all are ready, and removes them again. That they are done is recorded before the first
// of them is removed: whoever finds one gone must not run it again.
func (w *worker) runDeletionHooks(ctx context.Context, s *scope, at hookTime) outcome {
	record := s.status.DeletionHooks
	if record == nil || s.target == nil || record.reached(at.end) {
		return proceed
	}
	if !record.reached(at.cleanup) {
		if o := w.applyHooks(ctx, s, at); o.kind != outcomeContinue {
			return o
		}
		record.Stage = at.cleanup
		if len(record.Inventory) > 0 {
			if err := w.save(ctx, s); err != nil {
				return outcomeOf(fmt.Errorf("recording that %s hooks are done: %w", at.hook, err))
			}
		}
	}
	if len(record.Inventory) > 0 {
		result, err := s.target.engine.Delete(ctx, reconciler.DeleteRequest{Owner: w.hookOwner(s)})
		w.tookHooks(s, &result)
		switch {
		case err != nil:
			return w.unreachable(ctx, s, err)
		case !result.Done:
			return outcome{kind: outcomeDeleting, message: at.hook + " hooks are done; " + describeWaits(result, "deleted"), wake: result.RequeueAfter}
		}
	}
	record.Stage = at.end
	return proceed
}

// applyHooks brings the hooks into the cluster as if they were all that is wanted.
func (w *worker) applyHooks(ctx context.Context, s *scope, at hookTime) outcome {
	if w.skipsHooks(s) {
		w.warn(s, "HooksSkipped", at.hook+" hooks are left out, as is demanded by the annotation "+w.skipAnnotation())
		return proceed
	}
	stored, damage, err := w.storedHooks(ctx, s)
	if err != nil {
		return outcomeOf(err)
	}
	if damage != "" {
		return outcome{kind: outcomeRetriable, message: "deletion hooks are lost: " + damage + "; " + w.skipAdvice(), retryAfter: new(missingReferenceDelay)}
	}
	var objects []client.Object
	for _, hook := range stored {
		if hook.Hook == at.hook {
			objects = append(objects, hook.Object)
		}
	}
	if len(objects) == 0 {
		return proceed
	}
	if o := w.makeRoom(ctx, s, at, objects); o.kind != outcomeContinue {
		return o
	}
	s.status.DeletionHooks.Stage = at.applying
	result, err := w.applyPossible(ctx, s, at, objects)
	switch {
	case err != nil:
		return w.unreachable(ctx, s, err)
	case len(result.Failures) > 0:
		message := fmt.Sprintf("%s hooks: %s; delete what has failed to have it run again; %s", at.hook, failureMessage(result), w.skipAdvice())
		return outcome{kind: outcomeFailed, message: message, wake: result.RequeueAfter}
	case !result.Done:
		return outcome{kind: outcomeDeleting, message: at.hook + " hooks: " + describeWaits(result, "ready"), wake: result.RequeueAfter}
	}
	return proceed
}

// applyPossible applies hooks without those that belong to namespaces which are being deleted.
func (w *worker) applyPossible(ctx context.Context, s *scope, at hookTime, hooks []client.Object) (reconciler.Result, error) {
	// A component may say that others may delete its dependents; a hook that is deleted before it is ready has to run again.
	policies := s.settings.policies
	policies.Drift = reconciler.DriftPolicyCorrect
	// A namespace that was a dependent must not come back for a hook, and stay.
	policies.MissingNamespaces = reconciler.MissingNamespacesPolicyDoNotCreate
	for {
		result, err := s.target.engine.Apply(ctx, reconciler.ApplyRequest{Owner: w.hookOwner(s), Objects: hooks, Policies: policies})
		w.tookHooks(s, &result)
		doomed := slices.DeleteFunc(slices.Clone(result.Waits), func(wait reconciler.Notice) bool { return !wait.Doomed })
		possible := slices.DeleteFunc(slices.Clone(hooks), func(hook client.Object) bool {
			return slices.ContainsFunc(doomed, func(wait reconciler.Notice) bool { return s.names(hook, wait.Object) })
		})
		if err != nil || len(possible) == len(hooks) {
			return result, err
		}
		w.warn(s, "HooksSkipped", boundMessage(at.hook+" hooks cannot be applied any more: "+describe(doomed)))
		hooks = possible
	}
}

// names tells whether a hook is, or is going to be, the object of a key.
func (s *scope) names(hook client.Object, key types.ObjectKey) bool {
	return key.GetObjectKind().GroupVersionKind().GroupKind() == hook.GetObjectKind().GroupVersionKind().GroupKind() && key.GetName() == hook.GetName() &&
		(key.GetNamespace() == hook.GetNamespace() || hook.GetNamespace() == "" && key.GetNamespace() == s.settings.namespace)
}

// makeRoom deletes dependents that are hooks as well, so that these run anew. It does nothing once the first hook is applied.
func (w *worker) makeRoom(ctx context.Context, s *scope, at hookTime, hooks []client.Object) outcome {
	if s.status.DeletionHooks.reached(at.applying) {
		return proceed
	}
	isHook := func(item *reconciler.InventoryItem) bool {
		return slices.ContainsFunc(hooks, func(hook client.Object) bool { return s.names(hook, item) })
	}
	owner := w.owner(s)
	owner.Inventory = slices.DeleteFunc(slices.Clone(owner.Inventory), func(item *reconciler.InventoryItem) bool { return !isHook(item) })
	if len(owner.Inventory) == 0 {
		return proceed
	}
	owner.Store = unchangedStore{}
	result, err := s.target.engine.Delete(ctx, reconciler.DeleteRequest{Owner: owner})
	s.result = &result
	w.announceResult(s)
	switch {
	case err != nil:
		return w.unreachable(ctx, s, err)
	case !result.Done:
		return outcome{kind: outcomeDeleting, message: "before " + at.hook + " hooks: " + describeWaits(result, "deleted"), wake: result.RequeueAfter}
	}
	return proceed
}

// unchangedStore is for dependents that are recorded, and stay so until all of them are gone.
type unchangedStore struct{}

// Save does nothing: what is recorded is more than what there is.
func (unchangedStore) Save(context.Context, []*reconciler.InventoryItem) error { return nil }

func (w *worker) skipAnnotation() string {
	return w.name + "/" + types.AnnotationKeySuffixSkipDeletionHooks
}

func (w *worker) skipsHooks(s *scope) bool {
	return s.component.GetAnnotations()[w.skipAnnotation()] == "true"
}

func (w *worker) skipAdvice() string {
	return fmt.Sprintf("to leave deletion hooks out, set the annotation %s to \"true\"", w.skipAnnotation())
}

// hookOwner is the component as owner of its deletion hooks: the same one, with another inventory. So a hook may be an object
// that was a dependent before.
func (w *worker) hookOwner(s *scope) reconciler.Owner {
	owner := w.owner(s)
	owner.Inventory = s.status.DeletionHooks.Inventory
	owner.Store = &hookStore{worker: w, scope: s}
	return owner
}

// hookStore persists the inventory of deletion hooks in the status of the component.
type hookStore struct {
	worker *worker
	scope  *scope
}

var _ reconciler.Store = &hookStore{}

// Save persists the inventory, along with what else has changed in the status.
func (h *hookStore) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	h.scope.status.DeletionHooks.Inventory = inventory
	err := h.worker.save(ctx, h.scope)
	h.scope.unsaved = err != nil
	return err
}

// tookHooks takes over what the engine has done about hooks.
func (w *worker) tookHooks(s *scope, result *reconciler.Result) {
	s.result = result
	s.status.DeletionHooks.Inventory = result.Inventory
	w.announceResult(s)
}

// checkLostHooks holds the deletion back if there are deletion hooks, and the status that told how far they are is lost.
func (w *worker) checkLostHooks(ctx context.Context, s *scope) outcome {
	found, err := w.listHooks(ctx, s)
	switch {
	case err != nil:
		return outcomeOf(fmt.Errorf("looking for deletion hooks: %w", err))
	case len(found) == 0:
		return proceed
	case w.skipsHooks(s):
		w.warn(s, "HooksSkipped", "deletion hooks are left out, as is demanded by the annotation "+w.skipAnnotation())
		return proceed
	}
	return outcome{kind: outcomeRetriable, message: "deletion hooks are lost: the status was empty; " + w.skipAdvice(), retryAfter: new(missingReferenceDelay)}
}

// listHooks finds all Secrets with deletion hooks.
func (w *worker) listHooks(ctx context.Context, s *scope) (placed, error) {
	recorded := ""
	if s.status.DeletionHooks != nil {
		recorded = s.status.DeletionHooks.Namespace
	}
	return w.listPlaced(ctx, s, chunks.Secret, recorded)
}

// removeHooks removes the Secrets with deletion hooks. Before, the status says that none is needed any more.
func (w *worker) removeHooks(ctx context.Context, s *scope) outcome {
	record := s.status.DeletionHooks
	if record == nil && !s.record.lost {
		return proceed
	}
	if record != nil {
		record.Stage = DeletionStageDone
		if err := w.save(ctx, s); err != nil {
			return outcomeOf(fmt.Errorf("recording that deletion hooks are done: %w", err))
		}
	}
	found, err := w.listHooks(ctx, s)
	if err != nil {
		return outcomeOf(fmt.Errorf("removing deletion hooks: %w", err))
	}
	complete, err := w.removePlaced(ctx, s, chunks.Secret, found)
	switch {
	case err != nil:
		return outcomeOf(fmt.Errorf("removing deletion hooks: %w", err))
	case !complete:
		return outcome{kind: outcomeRetriable, message: "Secrets with deletion hooks are held by others, or are being changed by them", retryAfter: new(firstBackoff)}
	}
	return proceed
}
