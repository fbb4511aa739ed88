// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// hooksOf returns the deletion hooks of the current revision of a release that are not complete yet.
func hooksOf(ctx context.Context, c *runner.Connection, release *releases.Release) ([]deletionhooks.Hook, error) {
	current := release.Current()
	if current == nil || current.DeletionHooks == 0 || !deletionhooks.PostDelete.Wants(release.DeletionStage) {
		return nil, nil
	}
	content, err := c.Records().Content(ctx, release, current.Number)
	if damaged, found := errors.AsType[*releases.DamagedError](err); found {
		return nil, releases.Refused("the deletion hooks (%d) of release %s are lost: %s: %s; to delete it without them: clm delete %s -n %s --skip-hooks",
			current.DeletionHooks, release, damaged.Part, damaged.Damage, release.Name, release.Namespace)
	}
	if err != nil {
		return nil, err
	}
	_, hooks, err := deletionhooks.Split(ManifestObjects(content.Manifest), releases.ReconcilerName, c.Client().Scheme())
	return slices.DeleteFunc(hooks, func(hook deletionhooks.Hook) bool {
		return hook.Hook == deletionhooks.PreDelete.String() && !deletionhooks.PreDelete.Wants(release.DeletionStage)
	}), err
}

// runHooks applies the hooks of a time, waits until all are ready, and removes them again.
func (r *removal) runHooks(ctx context.Context, at deletionhooks.Time) error {
	if len(r.Hooks) == 0 && len(r.Release.HookInventory) == 0 {
		// Then there is nothing to be recorded either.
		return nil
	}
	hooks := r.hookRunner(ctx, at)
	hooks.RerunFailed = r.again
	doing := deletionhooks.Applying
	r.operation.Board().Expect(r.Release.HookInventory)
	c := &runner.Convergence{
		Target: r.target, Board: r.operation.Board(), Timeout: r.limits.Timeout, Phase: func(reconciler.Result) string { return hookPhase(at, doing) },
		Call: func(ctx context.Context) (reconciler.Result, error) {
			hooks.Owner.Inventory = r.Release.Inventory
			state := deletionhooks.State{Stage: r.Release.DeletionStage, Inventory: r.Release.HookInventory}
			progress, err := hooks.Step(ctx, at, state, deletionhooks.At(at, r.Hooks))
			r.takeHooks(progress.State)
			doing = progress.Doing
			progress.Result.Done = progress.Done
			hooks.RerunFailed = hooks.RerunFailed && err != nil
			return progress.Result, err
		},
	}
	if len(deletionhooks.At(at, r.Hooks)) > 0 {
		c.Start = hookPhase(at, doing)
	}
	_, err := c.Run(ctx)
	if err == nil {
		return nil
	}
	return &releases.StageError{Stage: at.String() + " hooks", Cause: err, Advice: fmt.Sprintf(
		"The release is not deleted until its hooks have completed. To rerun failed hooks, run the same command again. "+
			"Delete a failed hook first, unless its hook-delete-policy is before-hook-creation or its update-policy is recreate. "+
			"To continue without hooks: clm delete %s -n %s --skip-hooks", r.Release.Name, r.Release.Namespace)}
}

// hookRunner returns the runner of the deletion hooks.
func (r *removal) hookRunner(ctx context.Context, at deletionhooks.Time) *deletionhooks.Runner {
	hooks := &deletionhooks.Runner{
		Engine: r.target.Engine(),
		Owner:  ownerOf(r.target, r.Release),
		Save: func(ctx context.Context, state deletionhooks.State) error {
			if err := r.operation.CheckLock(ctx); err != nil {
				return err
			}
			r.takeHooks(state)
			r.operation.Board().Expect(state.Inventory)
			return r.connection.Records().Save(ctx, r.Release)
		},
		Took: func(doing deletionhooks.Doing, result reconciler.Result) {
			r.operation.Board().Took(result, nil, hookPhase(at, doing))
		},
		LeftOut: func(hooks []reconciler.Notice) {
			for _, hook := range hooks {
				if text := display.Text(hook.Object); !slices.Contains(r.leftOut, text) {
					r.leftOut = append(r.leftOut, text)
				}
			}
		},
	}
	hooks.Owner.Fence = r.operation.Fence(ctx)
	if current := r.Release.Current(); current != nil {
		hooks.Policies = Lasting(current.Policies)
	}
	return hooks
}

// takeHooks stores the progress of the deletion in the release.
func (r *removal) takeHooks(state deletionhooks.State) {
	r.Release.DeletionStage, r.Release.HookInventory = state.Stage, state.Inventory
}

// hookPhase returns the phase to show.
func hookPhase(at deletionhooks.Time, doing deletionhooks.Doing) string {
	switch doing {
	case deletionhooks.Clearing:
		return fmt.Sprintf("deleting dependents that are %s hooks", at)
	case deletionhooks.Removing:
		return fmt.Sprintf("deleting %s hooks", at)
	case deletionhooks.Applying:
	}
	return fmt.Sprintf("running %s hooks", at)
}
