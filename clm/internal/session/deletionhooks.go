// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// hooksError says that a deletion did not get past its hooks.
type hooksError struct {
	release *releases.Release
	at      deletionhooks.Time
	cause   error
}

func (e *hooksError) Error() string { return e.at.String() + " hooks: " + e.cause.Error() }

func (e *hooksError) Unwrap() error { return e.cause }

// advice says how to go on.
func (e *hooksError) advice() string {
	return fmt.Sprintf("The release stays as it is until its hooks are done. To have one run again that has failed, delete it, and do the same again. "+
		"To go on without hooks: clm delete %s -n %s --skip-hooks", e.release.Name, e.release.Namespace)
}

// stageOf is how far the deletion of a release has come.
func stageOf(release *releases.Release) deletionhooks.Stage {
	return deletionhooks.Stage(release.DeletionStage)
}

// deletionHooks returns the deletion hooks of a release that are not over yet. They are those of its current revision.
func (s *Session) deletionHooks(ctx context.Context, release *releases.Release) ([]deletionhooks.Hook, error) {
	current := release.Current()
	if current == nil || current.DeletionHooks == 0 || !deletionhooks.PostDelete.Wants(stageOf(release)) {
		return nil, nil
	}
	content, err := s.records.Content(ctx, release, current.Number)
	var damaged *releases.DamagedError
	if errors.As(err, &damaged) {
		return nil, refused("the deletion hooks (%d) of release %s are lost: %s: %s; to delete it without them: clm delete %s -n %s --skip-hooks",
			current.DeletionHooks, release, damaged.Part, damaged.Damage, release.Name, release.Namespace)
	}
	if err != nil {
		return nil, err
	}
	_, hooks, err := deletionhooks.Split(asObjects(content.Manifest), releases.ReconcilerName, s.client.Scheme())
	return slices.DeleteFunc(hooks, func(hook deletionhooks.Hook) bool {
		return hook.Hook == deletionhooks.PreDelete.String() && !deletionhooks.PreDelete.Wants(stageOf(release))
	}), err
}

// runDeletionHooks applies the hooks of a time, waits until all are ready, and removes them again.
func (o *operation) runDeletionHooks(ctx context.Context, d *Deletion, limits Limits, at deletionhooks.Time) error {
	if len(d.Hooks) == 0 && len(o.release.HookInventory) == 0 {
		// Then there is nothing to be recorded either.
		return nil
	}
	runner := o.hookRunner(ctx, d, at)
	doing := deletionhooks.Applying
	c := &convergence{
		target:  d.target,
		timeout: limits.Timeout,
		call: func(ctx context.Context) (reconciler.Result, error) {
			runner.Owner.Inventory = o.release.Inventory
			state := deletionhooks.State{Stage: stageOf(o.release), Inventory: o.release.HookInventory}
			progress, err := runner.Step(ctx, at, state, deletionhooks.At(at, d.Hooks))
			o.takeHooks(progress.State)
			doing = progress.Doing
			progress.Result.Done = progress.Done
			return progress.Result, err
		},
		took: func(result reconciler.Result, err error) { o.board.took(result, err, hookPhase(at, doing)) },
	}
	o.board.expect(o.release.HookInventory, applyOrder)
	if len(deletionhooks.At(at, d.Hooks)) > 0 {
		o.board.say(hookPhase(at, doing))
	}
	d.target.seen = o.board.seen
	result, err := c.run(ctx)
	if err != nil {
		o.board.took(result, nil, "")
		return &hooksError{release: o.release, at: at, cause: err}
	}
	return nil
}

// hookRunner returns what runs the deletion hooks.
func (o *operation) hookRunner(ctx context.Context, d *Deletion, at deletionhooks.Time) *deletionhooks.Runner {
	runner := &deletionhooks.Runner{
		Engine: d.target.engine,
		Owner:  reconciler.Owner{ID: d.target.owner, Namespace: o.release.Namespace, Home: []string{o.release.Namespace}, Fence: o.fence(ctx)},
		Save: func(ctx context.Context, state deletionhooks.State) error {
			if err := o.lock.Fence(ctx); err != nil {
				return err
			}
			o.takeHooks(state)
			o.board.expect(state.Inventory, applyOrder)
			return o.records.Save(ctx, o.release)
		},
		Took: func(doing deletionhooks.Doing, result reconciler.Result) {
			o.board.took(result, nil, hookPhase(at, doing))
		},
		LeftOut: func(hooks []reconciler.Notice) {
			for _, hook := range hooks {
				if text := objectText(hook.Object); !slices.Contains(d.leftOut, text) {
					d.leftOut = append(d.leftOut, text)
				}
			}
		},
	}
	if current := o.release.Current(); current != nil {
		runner.Policies = lasting(current.Policies)
	}
	return runner
}

// takeHooks notes how far the deletion has come.
func (o *operation) takeHooks(state deletionhooks.State) {
	o.release.DeletionStage, o.release.HookInventory = string(state.Stage), state.Inventory
}

// hookPhase is what to show.
func hookPhase(at deletionhooks.Time, doing deletionhooks.Doing) string {
	switch doing {
	case deletionhooks.Clearing:
		return fmt.Sprintf("removing dependents that are %s hooks", at)
	case deletionhooks.Removing:
		return fmt.Sprintf("removing %s hooks", at)
	case deletionhooks.Applying:
	}
	return fmt.Sprintf("running %s hooks", at)
}
