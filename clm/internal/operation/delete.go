// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Delete deletes the release and its dependents. The error is a RefusedError if the user has to decide, a NotReadyError
// if not all objects are gone, an InterruptedError if the context has ended, and one of which IsChanged is true if
// another plan is needed: then the end of the operation was not shown.
func (d *Deletion) Delete(ctx context.Context, limits runner.Limits) error {
	b := runner.NewBoard(d.connection, "delete", d.Release.String(), 0)
	err := runner.Interrupted(ctx, d.delete(ctx, limits, b))
	outcome := display.Outcome{Done: err == nil, Summary: fmt.Sprintf("release %s was deleted", d.Release), Next: SparedText(d.spared)}
	if len(d.leftOut) > 0 {
		outcome.Next = "These hooks could not be applied, because their namespaces are being deleted: " + strings.Join(d.leftOut, ", ")
	}
	if err != nil {
		outcome.Summary, outcome.Next = fmt.Sprintf("release %s was not deleted: %s", d.Release, releases.Summary(err)), limits.Next(err, d.Release)
	}
	b.Finish(outcome, err)
	return err
}

func (d *Deletion) delete(ctx context.Context, limits runner.Limits, b *runner.Board) error {
	if obstacle := d.obstacle(); obstacle != "" {
		return releases.Refused("%s", obstacle)
	}
	o, done, err := runner.Begin(ctx, d.connection, d.Release, b, limits)
	if err != nil {
		return err
	}
	defer done()
	if d.Release.State == releases.StateDeleting || d.Release.Ancestor {
		// Otherwise there is a write, which fails if the record has changed since it was read.
		if err := o.ConfirmUnchanged(ctx); err != nil {
			return err
		}
	}
	ctx, stop := o.WatchLock(ctx)
	defer stop()
	again := d.Release.State == releases.StateDeleting && d.Release.Message != ""
	d.Release.State, d.Release.Message = releases.StateDeleting, ""
	if err := d.connection.Records().Save(ctx, d.Release); err != nil {
		return o.UnlessChanged(err)
	}
	ctx, stopTimer := runner.Limited(ctx, limits.Timeout)
	defer stopTimer()
	r := &removal{Deletion: d, operation: o, limits: limits, again: again}
	if err := runner.Interrupted(ctx, r.deleteAll(ctx)); err != nil {
		return errors.Join(err, o.Record(ctx, func(release *releases.Release) { release.Message = err.Error() }))
	}
	err = d.connection.Records().Remove(ctx, d.Release)
	if errors.Is(err, releases.ErrOutdated) && d.recordGone(ctx) {
		// It was deleted with its namespace.
		return nil
	}
	return err
}

// recordGone reports whether it is certain that the release is not recorded any more.
func (d *Deletion) recordGone(ctx context.Context) bool {
	_, err := d.connection.Records().Get(ctx, d.Release.Namespace, d.Release.Name)
	return errors.Is(err, releases.ErrNotFound)
}

// removal is a deletion that is being carried out by an operation on its release.
type removal struct {
	*Deletion

	operation *runner.Operation
	limits    runner.Limits
	// again means that the last deletion has failed, so that failed hooks are to run again.
	again bool
}

// deleteAll deletes the dependents and runs the hooks. It continues where an earlier deletion has stopped.
func (r *removal) deleteAll(ctx context.Context) error {
	if len(r.Release.TestInventory) > 0 {
		if err := r.deleteTests(ctx); err != nil {
			return err
		}
	}
	if err := r.runHooks(ctx, deletionhooks.PreDelete); err != nil {
		return err
	}
	if !r.Release.DeletionStage.Reached(inventory.DeletionStagePostDelete) {
		if err := r.deleteDependents(ctx); err != nil {
			return err
		}
	}
	return r.runHooks(ctx, deletionhooks.PostDelete)
}

// deleteDependents calls the engine until nothing is left.
func (r *removal) deleteDependents(ctx context.Context) error {
	fence := r.operation.Fence(ctx)
	r.operation.Board().ExpectDeletion(r.Release.Inventory)
	c := &runner.Convergence{
		Target: r.target, Board: r.operation.Board(), Timeout: r.limits.Timeout, Start: "deleting", Phase: runner.DeletedPhase,
		Call: func(ctx context.Context) (reconciler.Result, error) {
			request := r.request()
			request.Store, request.Fence = r.operation, fence
			result, err := r.target.Engine().Delete(ctx, request)
			r.Release.Inventory = result.Inventory
			return result, err
		},
	}
	if _, err := c.Run(ctx); err != nil {
		return errors.Join(err, r.operation.LiftBarriers(ctx, r.target))
	}
	// What is left of it in the record, because that stays as it is during a deletion, counts no longer.
	r.Release.Inventory = nil
	return nil
}

// deleteTests removes what tests have left before the release is deleted. These objects may be instances of types of
// the release, and hide foreign instances; so deleteTests looks for blockers again.
func (r *removal) deleteTests(ctx context.Context) error {
	if err := ClearTests(ctx, r.connection, r.operation, r.Release, r.limits.Timeout); err != nil {
		return err
	}
	if err := r.findBlockers(ctx); err != nil {
		return err
	}
	if obstacle := r.obstacle(); obstacle != "" {
		return releases.Refused("%s", obstacle)
	}
	return nil
}
