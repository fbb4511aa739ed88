// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Reached reports whether the deletion has reached a stage, or passed it.
func (h *Hooks) Reached(stage inventory.DeletionStage) bool {
	reference := *h.field
	return reference != nil && reference.Stage.Reached(stage)
}

// Awaited reports whether any hooks are still to be applied or awaited.
func (h *Hooks) Awaited() bool {
	reference := *h.field
	return reference != nil && reference.Objects > 0 && !h.Reached(inventory.DeletionStagePostDeleteCleanup) && !h.skipped()
}

// Applied returns the hooks that exist: applied, and not yet removed.
func (h *Hooks) Applied() []*reconciler.InventoryItem {
	if reference := *h.field; reference != nil {
		return reference.Inventory
	}
	return nil
}

// Step applies the hooks of a time, waits until all are ready, and removes them. The runner has the engine, the owner and
// its policies. The error is that of the runner.
func (h *Hooks) Step(ctx context.Context, at deletionhooks.Time, runner deletionhooks.Runner) (outcomes.Outcome, error) {
	reference := *h.field
	if reference == nil {
		return outcomes.Proceed, nil
	}
	wanted, o := h.wanted(ctx, at)
	if o.Kind != outcomes.Continue {
		return o, nil
	}
	runner.Save = func(ctx context.Context, state deletionhooks.State) error {
		h.take(state)
		return h.record.SaveStatus(ctx)
	}
	runner.LeftOut = func(hooks []reconciler.Notice) {
		h.handle.Warn("HooksSkipped", at.String()+" hooks can no longer be applied: "+outcomes.Notices(hooks))
	}
	progress, err := runner.Step(ctx, at, deletionhooks.State{Stage: reference.Stage, Inventory: reference.Inventory}, wanted)
	h.take(progress.State)
	if err != nil {
		return outcomes.Proceed, err
	}
	return h.outcomeOf(at, progress), nil
}

// outcomeOf says how far the hooks of a time are.
func (h *Hooks) outcomeOf(at deletionhooks.Time, progress deletionhooks.Progress) outcomes.Outcome {
	result := progress.Result
	o := outcomes.Outcome{Kind: outcomes.Deleting, Wake: result.RequeueAfter}
	switch {
	case progress.Done:
		return outcomes.Proceed
	case progress.Doing == deletionhooks.Clearing:
		o.Message = fmt.Sprintf("before %s hooks: %s", at, outcomes.Waves(nil).Waits(result, "deleted"))
	case progress.Doing == deletionhooks.Removing:
		o.Message = fmt.Sprintf("%s hooks are done; %s", at, outcomes.Waves(nil).Waits(result, "deleted"))
	case len(result.Failures) > 0:
		o.Kind = outcomes.Failed
		o.Message = fmt.Sprintf("%s hooks: %s; to run a failed hook again, delete it; %s", at, outcomes.Failures(result), h.skipAdvice())
	default:
		o.Message = fmt.Sprintf("%s hooks: %s", at, outcomes.Waves(nil).Waits(result, "ready"))
	}
	return o
}

// take records how far the deletion has come.
func (h *Hooks) take(state deletionhooks.State) {
	reference := *h.field
	reference.Stage, reference.Inventory = state.Stage, state.Inventory
}

// wanted returns the hooks of a time that are still to be applied or awaited; none if they are skipped.
func (h *Hooks) wanted(ctx context.Context, at deletionhooks.Time) ([]client.Object, outcomes.Outcome) {
	if !at.Wants((*h.field).Stage) {
		return nil, outcomes.Proceed
	}
	if h.skipped() {
		h.handle.Warn("HooksSkipped", at.String()+" hooks are skipped, "+h.whySkipped())
		return nil, outcomes.Proceed
	}
	stored, damage, err := h.read(ctx)
	if damage != "" {
		return nil, h.lost(damage)
	}
	return deletionhooks.At(at, stored), outcomes.Of(err)
}

func (h *Hooks) lost(damage string) outcomes.Outcome {
	return outcomes.Retry("deletion hooks are lost: "+damage+"; "+h.skipAdvice(), outcomes.MissingDelay)
}

// CheckLost looks for hooks that an emptied status no longer refers to.
func (h *Hooks) CheckLost(ctx context.Context) outcomes.Outcome {
	found, err := h.list(ctx)
	switch {
	case err != nil:
		return outcomes.Of(fmt.Errorf("looking for deletion hooks: %w", err))
	case len(found) == 0:
	case h.skipped():
		h.handle.Warn("HooksSkipped", "deletion hooks are skipped, "+h.whySkipped())
	default:
		return h.lost("the status was empty")
	}
	return outcomes.Proceed
}

func (h *Hooks) skipAnnotation() string {
	return h.handle.Reconciler + "/" + types.AnnotationKeySuffixSkipDeletionHooks
}

// skipped reports whether hooks are skipped. Hooks prepare, or follow, the deletion of dependents, not their orphaning.
func (h *Hooks) skipped() bool {
	return h.releasing() || h.handle.Annotation(types.AnnotationKeySuffixSkipDeletionHooks) == "true"
}

func (h *Hooks) whySkipped() string {
	if h.releasing() {
		return "because dependents are orphaned, not deleted"
	}
	return "because of the annotation " + h.skipAnnotation()
}

func (h *Hooks) skipAdvice() string {
	return fmt.Sprintf("to skip deletion hooks, set the annotation %s to \"true\"", h.skipAnnotation())
}
