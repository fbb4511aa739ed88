// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// reached reports whether the deletion has come to a stage, or passed it.
func (h *DeletionHooks) reached(stage DeletionStage) bool {
	return deletionhooks.Stage(h.Stage).Reached(deletionhooks.Stage(stage))
}

// dependentsGone reports whether it is recorded that no dependent is left. What the record of the inventory has nevertheless, because
// it stays as it is during a deletion, is not looked at again: a post-delete hook may have the name of a dependent.
func (s *scope) dependentsGone() bool {
	return s.deleting && s.status.DeletionHooks != nil && s.status.DeletionHooks.reached(DeletionStagePostDelete)
}

// awaitsHooks reports whether there are deletion hooks that are to be applied, or awaited.
func (w *worker) awaitsHooks(s *scope) bool {
	record := s.status.DeletionHooks
	return record != nil && record.Objects > 0 && !record.reached(DeletionStagePostDeleteCleanup) && !w.skipsHooks(s)
}

func (w *worker) runPreDeleteHooks(ctx context.Context, s *scope) outcome {
	if s.status.DeletionHooks == nil && s.record.lost && s.target != nil && len(s.status.Inventory) > 0 {
		return w.checkLostHooks(ctx, s)
	}
	return w.runDeletionHooks(ctx, s, deletionhooks.PreDelete)
}

func (w *worker) runPostDeleteHooks(ctx context.Context, s *scope) outcome {
	return w.runDeletionHooks(ctx, s, deletionhooks.PostDelete)
}

// runDeletionHooks applies hooks, waits until all are ready, and removes them again.
func (w *worker) runDeletionHooks(ctx context.Context, s *scope, at deletionhooks.Time) outcome {
	record := s.status.DeletionHooks
	if record == nil || s.target == nil {
		return proceed
	}
	stage := deletionhooks.Stage(record.Stage)
	var hooks []client.Object
	if at.Wants(stage) {
		var o outcome
		if hooks, o = w.wantedHooks(ctx, s, at); o.kind != outcomeContinue {
			return o
		}
	}
	runner := w.hookRunner(s, at)
	progress, err := runner.Step(ctx, at, deletionhooks.State{Stage: stage, Inventory: record.Inventory}, hooks)
	record.take(progress.State)
	switch result := progress.Result; {
	case err != nil:
		return w.unreachable(ctx, s, err)
	case progress.Done:
		return proceed
	case progress.Doing == deletionhooks.Clearing:
		return outcome{kind: outcomeDeleting, message: fmt.Sprintf("before %s hooks: %s", at, texts.Waits(result, "deleted")), wake: result.RequeueAfter}
	case progress.Doing == deletionhooks.Removing:
		return outcome{kind: outcomeDeleting, message: fmt.Sprintf("%s hooks are done; %s", at, texts.Waits(result, "deleted")), wake: result.RequeueAfter}
	case len(result.Failures) > 0:
		message := fmt.Sprintf("%s hooks: %s; delete what has failed to have it run again; %s", at, failureMessage(result), w.skipAdvice())
		return outcome{kind: outcomeFailed, message: message, wake: result.RequeueAfter}
	default:
		return outcome{kind: outcomeDeleting, message: fmt.Sprintf("%s hooks: %s", at, texts.Waits(result, "ready")), wake: result.RequeueAfter}
	}
}

// take takes over how far the deletion has come.
func (h *DeletionHooks) take(state deletionhooks.State) {
	h.Stage, h.Inventory = DeletionStage(state.Stage), state.Inventory
}

// wantedHooks returns the hooks of a time, unless they are to be left out.
func (w *worker) wantedHooks(ctx context.Context, s *scope, at deletionhooks.Time) ([]client.Object, outcome) {
	if w.skipsHooks(s) {
		w.warn(s, "HooksSkipped", at.String()+" hooks are left out, "+w.whySkipped(s))
		return nil, proceed
	}
	stored, damage, err := w.storedHooks(ctx, s)
	if err != nil {
		return nil, outcomeOf(err)
	}
	if damage != "" {
		return nil, outcome{kind: outcomeRetriable, message: "deletion hooks are lost: " + damage + "; " + w.skipAdvice(), retryAfter: new(missingReferenceDelay)}
	}
	return deletionhooks.At(at, stored), proceed
}

// hookRunner applies and removes the deletion hooks of a component.
func (w *worker) hookRunner(s *scope, at deletionhooks.Time) *deletionhooks.Runner {
	return &deletionhooks.Runner{
		Engine:   s.target.engine,
		Owner:    w.owner(s),
		Policies: s.settings.policies,
		Save: func(ctx context.Context, state deletionhooks.State) error {
			s.status.DeletionHooks.take(state)
			err := w.save(ctx, s)
			s.unsaved = err != nil
			return err
		},
		Took: func(_ deletionhooks.Doing, result reconciler.Result) {
			s.result = &result
			w.announceResult(s)
		},
		LeftOut: func(hooks []reconciler.Notice) {
			w.warn(s, "HooksSkipped", texts.Bound(at.String()+" hooks cannot be applied any more: "+texts.Notices(hooks)))
		},
	}
}

func (w *worker) skipAnnotation() string {
	return w.name + "/" + types.AnnotationKeySuffixSkipDeletionHooks
}

// skipsHooks reports whether deletion hooks are left out. They prepare for, or follow, the end of dependents, and not their release.
func (w *worker) skipsHooks(s *scope) bool {
	return s.orphaning || s.component.GetAnnotations()[w.skipAnnotation()] == "true"
}

func (w *worker) whySkipped(s *scope) string {
	if s.orphaning {
		return "because dependents are released and not deleted"
	}
	return "as is demanded by the annotation " + w.skipAnnotation()
}

func (w *worker) skipAdvice() string {
	return fmt.Sprintf("to leave deletion hooks out, set the annotation %s to \"true\"", w.skipAnnotation())
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
		w.warn(s, "HooksSkipped", "deletion hooks are left out, "+w.whySkipped(s))
		return proceed
	}
	return outcome{kind: outcomeRetriable, message: "deletion hooks are lost: the status was empty; " + w.skipAdvice(), retryAfter: new(missingReferenceDelay)}
}

// listHooks finds all Secrets with deletion hooks.
func (w *worker) listHooks(ctx context.Context, s *scope) (placed, error) {
	if hooks := s.status.DeletionHooks; hooks != nil {
		return w.listPlaced(ctx, s, chunks.Secret, hooks.Namespace, hooks.PreviousNamespace)
	}
	return w.listPlaced(ctx, s, chunks.Secret)
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
