// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// An application is a plan that is being carried out by an operation on its release.
type application struct {
	operation *runner.Operation
	plan      *Plan
	options   Options
	// former is the state of the release before the operation, with its message.
	former        releases.State
	formerMessage string
}

// CarryOut does what the plan says, in an operation on its release, if the release has not changed since the plan was
// made. Errors are those of Apply.
func (p *Plan) CarryOut(ctx context.Context, o *runner.Operation, options Options) error {
	a := &application{operation: o, plan: p, options: options}
	return a.run(ctx)
}

func (a *application) run(ctx context.Context) error {
	err := a.confirm(ctx)
	// A canceled operation must not plan again, whatever has become of its plan.
	if canceled := a.operation.CheckCanceled(); canceled != nil {
		return canceled
	}
	if err != nil {
		return err
	}
	ctx, stop := a.operation.WatchLock(ctx)
	defer stop()
	a.former, a.formerMessage = a.plan.Release.State, a.plan.Release.Message
	if err := a.enter(ctx); err != nil {
		return a.operation.UnlessChanged(err)
	}
	// The record of enter is complete before the operation can be canceled.
	ctx, stopListening := a.operation.UntilCanceled(ctx)
	defer stopListening()
	ctx, stopTimer := runner.Limited(ctx, a.options.Timeout)
	defer stopTimer()
	result, err := a.converge(ctx)
	left := a.leave(ctx, result, err)
	return errors.Join(err, left)
}

// confirm returns an error if the plan is outdated, before anything is recorded.
func (a *application) confirm(ctx context.Context) error {
	if a.plan.Release.Recorded() || a.plan.Release.Ancestor {
		// If the record has changed since it was read, the write of enter fails. But by then there are chunks of the
		// revision, which nothing refers to if the record is gone. For a new release, the index is written first.
		if err := a.operation.ConfirmUnchanged(ctx); err != nil {
			return err
		}
	}
	if a.plan.confirm != nil {
		if err := a.plan.confirm(ctx); err != nil {
			return err
		}
	}
	if !a.options.Exact {
		return nil
	}
	return a.checkExact(ctx)
}

// errOnlyChecked ends a call of the engine that must not change anything.
var errOnlyChecked = errors.New("nothing must be changed yet")

// checkExact returns an error if the plan is outdated, before anything is recorded.
func (a *application) checkExact(ctx context.Context) error {
	request := a.plan.request(unsaved{})
	request.Expected = a.plan.exact
	request.Fence = func() error { return errOnlyChecked }
	if _, err := a.plan.target.Engine().Apply(ctx, request); err != nil && !errors.Is(err, errOnlyChecked) {
		return err
	}
	return nil
}

// enter records that the revision is being applied, and in the same write the inventory that the engine would record
// first.
func (a *application) enter(ctx context.Context) error {
	a.operation.Sign()
	if a.plan.Release.Recorded() && !a.plan.New && a.plan.Release.State == releases.StateReady && a.plan.Release.RecordedState() == releases.StateReady {
		// The release stays ready while drift is corrected. One that has become ready only after an operation had
		// failed is not recorded as ready yet.
		return nil
	}
	if inventory := a.plan.exact.Inventory; inventory != nil {
		a.plan.Release.Inventory = inventory
	}
	var err error
	if a.plan.New {
		err = a.options.makeRoom(a.plan.Release, func(release *releases.Release) error {
			return a.plan.connection.Records().AddRevision(ctx, release, a.plan.Revision, a.plan.Content)
		})
	} else {
		a.plan.Release.State, a.plan.Release.Message = releases.StateApplying, ""
		if current := a.plan.Release.Current(); current.State != releases.RevisionReady {
			current.State, current.CanceledBy, current.Failure = releases.RevisionApplying, "", ""
		}
		err = a.plan.connection.Records().Save(ctx, a.plan.Release)
	}
	a.plan.New = a.plan.New && err != nil
	return err
}

// converge calls the engine until all objects are ready.
func (a *application) converge(ctx context.Context) (reconciler.Result, error) {
	request := a.request(a.operation.Fence(ctx))
	board := a.operation.Board()
	board.ExpectChanges(a.plan.Changes)
	board.Expect(a.plan.Release.Inventory)
	c := &runner.Convergence{
		Target: a.plan.target, Board: board, Timeout: a.options.Timeout, Start: "applying", Phase: runner.AppliedPhase, Enough: a.options.enough(),
		Call: func(ctx context.Context) (reconciler.Result, error) { return a.call(ctx, &request) },
	}
	result, err := c.Run(ctx)
	if err != nil {
		err = errors.Join(err, a.operation.LiftBarriers(ctx, a.plan.target))
	}
	return result, err
}

// request returns the request for the engine that carries out the plan.
func (a *application) request(fence func() error) reconciler.ApplyRequest {
	request := a.plan.request(a.operation)
	request.Fence = fence
	request.CarryOn = a.options.Wait == WaitNothing
	if a.options.Exact {
		request.Expected = a.plan.exact
	}
	return request
}

// call makes one call of the engine, and changes the request for the next one.
func (a *application) call(ctx context.Context, request *reconciler.ApplyRequest) (reconciler.Result, error) {
	request.Inventory = a.plan.Release.Inventory
	result, err := a.plan.target.Engine().Apply(ctx, *request)
	a.plan.Release.Inventory = result.Inventory
	a.operation.Board().Expect(result.Inventory)
	if err == nil {
		request.Expected = nil
	}
	// From now on, the inventory says what runs again.
	request.RerunFailed = request.RerunFailed && err != nil && !isScheduled(result.Inventory)
	return result, err
}

// isScheduled reports whether any object is to be applied.
func isScheduled(inventory []*reconciler.InventoryItem) bool {
	return slices.ContainsFunc(inventory, func(item *reconciler.InventoryItem) bool {
		return item.Phase == reconciler.PhaseScheduledForApplication
	})
}

// written reports whether all objects up to an apply order are applied.
func written(inventory []*reconciler.InventoryItem, upTo int) bool {
	return !slices.ContainsFunc(inventory, func(item *reconciler.InventoryItem) bool {
		return item.Phase == reconciler.PhaseScheduledForApplication && item.ApplyOrder <= upTo
	})
}

// goesOn reports whether an operation that has ended with an error, or none, before everything was ready, left a
// revision with which the next one continues.
func goesOn(failure error) bool {
	var interrupted *releases.InterruptedError
	return failure == nil || errors.As(failure, &interrupted)
}

// maxFailure is how much of the reason of a failure is kept with a revision, in bytes: the index of a release has all
// revisions.
const maxFailure = 1024

// noteFailure keeps the reason why a revision is not ready for the time when the release has another one.
func noteFailure(revision *releases.Revision, reason string) {
	revision.Failure = ""
	if revision.State != releases.RevisionReady && revision.CanceledBy == "" {
		revision.Failure = texts.Truncate(reason, maxFailure)
	}
}

// unawait records that Jobs that remove themselves, and are no longer awaited, need not exist: the outcome of a Job
// that is gone is unknown, and it must not run again for that.
func unawait(p *Plan) {
	removeThemselves := map[display.Key]bool{}
	for _, object := range p.objects {
		if job, ok := object.(*unstructured.Unstructured); ok && display.IsJob(job) {
			ttl, _, _ := unstructured.NestedFieldNoCopy(job.Object, "spec", "ttlSecondsAfterFinished")
			removeThemselves[keyIn(p.Release.Namespace, job)] = ttl != nil
		}
	}
	for _, item := range p.Release.Inventory {
		isWritten := item.Phase == reconciler.PhaseCreating || item.Phase == reconciler.PhaseUpdating
		if isWritten && item.Status != status.FailedStatus && removeThemselves[keyIn(p.Release.Namespace, item)] {
			item.Phase = reconciler.PhaseReady
		}
	}
}

// leave records how the operation ended.
func (a *application) leave(ctx context.Context, result reconciler.Result, failure error) error {
	var interrupted *releases.InterruptedError
	return a.operation.Record(ctx, func(release *releases.Release) {
		current := release.Current()
		switch {
		case failure == nil && result.Done:
			release.State, release.Message, current.State = releases.StateReady, "", releases.RevisionReady
		case failure == nil && a.options.Enough != nil:
			// The rest of the release stands as it did before.
			release.State, release.Message = a.former, a.formerMessage
			current.State = map[releases.State]releases.RevisionState{
				releases.StateReady: releases.RevisionReady, releases.StateFailed: releases.RevisionFailed,
			}[a.former]
			if current.State == "" {
				current.State = releases.RevisionApplying
			}
		case goesOn(failure):
			// The next operation continues with it.
			if failure == nil {
				unawait(a.plan)
			}
			release.State = releases.StateApplying
			release.Message = "not everything was ready when the last operation ended"
			if errors.As(failure, &interrupted) && interrupted.CanceledBy != "" {
				release.Message = releases.Summary(interrupted)
				if current.State != releases.RevisionReady {
					current.CanceledBy = interrupted.CanceledBy
				}
			}
		case current.State == releases.RevisionReady:
			// The revision had been ready before; this operation has failed to correct drift.
			release.State, release.Message = releases.StateFailed, failure.Error()
		default:
			release.State, release.Message, current.State = releases.StateFailed, failure.Error(), releases.RevisionFailed
		}
		noteFailure(current, release.Message)
		if unready := current.State != releases.RevisionReady; !(unready && current.Rollback) {
			// A rollback may be continued by the number of the revision to which it returns.
			a.options.prune(release)
		}
	})
}
