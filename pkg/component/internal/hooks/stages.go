// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// State is the outcome of a step.
type State int

const (
	// Done means that the hooks of this time are finished.
	Done State = iota
	// Going means that hooks are being applied, awaited or removed.
	Going
	// Failed means that a hook has failed.
	Failed
	// Lost means that the hooks cannot be read.
	Lost
)

// Progress describes how far the hooks of one time are.
type Progress struct {
	State   State
	Message string
	// Wake is the time after which to look again without an event; zero if events suffice.
	Wake time.Duration
}

// Run has what a step needs.
type Run struct {
	Engine   deletionhooks.Engine
	Owner    reconciler.Owner
	Policies reconciler.Policies
	// Took receives the result of each call of the engine.
	Took func(result reconciler.Result)
}

// Reached reports whether the deletion has reached a stage, or passed it.
func (h *Hooks) Reached(stage inventory.DeletionStage) bool {
	reference := *h.options.Field
	return reference != nil && reference.Stage.Reached(stage)
}

// Awaited reports whether any hooks are still to be applied or awaited.
func (h *Hooks) Awaited() bool {
	reference := *h.options.Field
	return reference != nil && reference.Objects > 0 && !h.Reached(inventory.DeletionStagePostDeleteCleanup) && !h.skipped()
}

// Applied returns the hooks that exist: applied, and not yet removed.
func (h *Hooks) Applied() []*reconciler.InventoryItem {
	if reference := *h.options.Field; reference != nil {
		return reference.Inventory
	}
	return nil
}

// Step applies the hooks of a time, waits until all are ready, and removes them. Wanted returns the hooks to pass.
func (h *Hooks) Step(ctx context.Context, at deletionhooks.Time, wanted []client.Object, run Run) (Progress, error) {
	reference := *h.options.Field
	if reference == nil {
		return Progress{}, nil
	}
	state := deletionhooks.State{Stage: reference.Stage, Inventory: reference.Inventory}
	progress, err := h.runner(at, run).Step(ctx, at, state, wanted)
	h.take(progress.State)
	if err != nil {
		return Progress{}, err
	}
	return h.describe(at, progress), nil
}

// describe turns the progress into a message.
func (h *Hooks) describe(at deletionhooks.Time, progress deletionhooks.Progress) Progress {
	result := progress.Result
	going := Progress{State: Going, Wake: result.RequeueAfter}
	switch {
	case progress.Done:
		return Progress{}
	case progress.Doing == deletionhooks.Clearing:
		going.Message = fmt.Sprintf("before %s hooks: %s", at, outcomes.Waves(nil).Waits(result, "deleted"))
	case progress.Doing == deletionhooks.Removing:
		going.Message = fmt.Sprintf("%s hooks are done; %s", at, outcomes.Waves(nil).Waits(result, "deleted"))
	case len(result.Failures) > 0:
		going.State = Failed
		going.Message = fmt.Sprintf("%s hooks: %s; to run a failed hook again, delete it; %s", at, outcomes.Failures(result), h.skipAdvice())
	default:
		going.Message = fmt.Sprintf("%s hooks: %s", at, outcomes.Waves(nil).Waits(result, "ready"))
	}
	return going
}

// take records how far the deletion has come.
func (h *Hooks) take(state deletionhooks.State) {
	reference := *h.options.Field
	reference.Stage, reference.Inventory = state.Stage, state.Inventory
}

// Wanted returns the hooks of a time that are still to be applied or awaited; none if they are skipped. The progress is
// Lost if they cannot be read.
func (h *Hooks) Wanted(ctx context.Context, at deletionhooks.Time) ([]client.Object, Progress, error) {
	reference := *h.options.Field
	if reference == nil || !at.Wants(reference.Stage) {
		return nil, Progress{}, nil
	}
	if h.skipped() {
		h.options.Warn("HooksSkipped", at.String()+" hooks are skipped, "+h.whySkipped())
		return nil, Progress{}, nil
	}
	stored, damage, err := h.read(ctx)
	if err != nil || damage != "" {
		return nil, h.lost(damage), err
	}
	return deletionhooks.At(at, stored), Progress{}, nil
}

func (h *Hooks) lost(damage string) Progress {
	return Progress{State: Lost, Message: "deletion hooks are lost: " + damage + "; " + h.skipAdvice()}
}

// CheckLost looks for hooks that an emptied status no longer refers to.
func (h *Hooks) CheckLost(ctx context.Context) (Progress, error) {
	found, err := h.list(ctx)
	switch {
	case err != nil:
		return Progress{}, fmt.Errorf("looking for deletion hooks: %w", err)
	case len(found) == 0:
		return Progress{}, nil
	case h.skipped():
		h.options.Warn("HooksSkipped", "deletion hooks are skipped, "+h.whySkipped())
		return Progress{}, nil
	default:
		return h.lost("the status was empty"), nil
	}
}

// runner applies and removes the hooks.
func (h *Hooks) runner(at deletionhooks.Time, run Run) *deletionhooks.Runner {
	return &deletionhooks.Runner{
		Engine:   run.Engine,
		Owner:    run.Owner,
		Policies: run.Policies,
		Save: func(ctx context.Context, state deletionhooks.State) error {
			h.take(state)
			return h.record.Save(ctx)
		},
		Took: func(_ deletionhooks.Doing, result reconciler.Result) { run.Took(result) },
		LeftOut: func(hooks []reconciler.Notice) {
			h.options.Warn("HooksSkipped", outcomes.Bound(at.String()+" hooks can no longer be applied: "+outcomes.Notices(hooks)))
		},
	}
}

func (h *Hooks) skipAnnotation() string {
	return h.options.Reconciler + "/" + types.AnnotationKeySuffixSkipDeletionHooks
}

// skipped reports whether hooks are skipped. Hooks prepare, or follow, the deletion of dependents, not their orphaning.
func (h *Hooks) skipped() bool {
	return h.options.Releasing() || h.options.Component.GetAnnotations()[h.skipAnnotation()] == "true"
}

func (h *Hooks) whySkipped() string {
	if h.options.Releasing() {
		return "because dependents are orphaned, not deleted"
	}
	return "because of the annotation " + h.skipAnnotation()
}

func (h *Hooks) skipAdvice() string {
	return fmt.Sprintf("to skip deletion hooks, set the annotation %s to \"true\"", h.skipAnnotation())
}
