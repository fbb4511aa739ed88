// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Options control how a plan is carried out.
type Options struct {
	runner.Limits

	// Wait is what the operation waits for. Except with WaitReady, redundant objects stay until the next operation if
	// not all others are ready.
	Wait Wait
	// HistoryMax is the number of revisions to keep; the current one and the last one that was ready are kept in any
	// case. Defaults to all.
	HistoryMax int
	// HistoryMaxBytes is the maximum size of the stored contents of the kept revisions, in bytes. The oldest revisions
	// go first; the current one and the last one that was ready are kept in any case. Defaults to no limit.
	HistoryMaxBytes int64
	// Exact refuses to do anything that is not in the plan.
	Exact bool
	// Enough ends the operation before all objects are ready, as soon as it returns true for a result of the engine. It
	// overrides Wait. Defaults to none.
	Enough func(result reconciler.Result) bool
	// Reverts means that the caller reverts a failed revision that was never ready, so the outcome has no advice.
	Reverts bool
}

// Wait is what an operation waits for.
type Wait string

const (
	// WaitReady waits until all objects are ready.
	WaitReady Wait = ""
	// WaitWritten waits until all waves but the last one are ready, and all objects are written.
	WaitWritten Wait = "true"
	// WaitWave waits for nothing: the operation ends at the first wave that is not ready at once. Objects of later
	// waves are not written.
	WaitWave Wait = "wave"
	// WaitNothing waits for nothing, and writes all waves at once.
	WaitNothing Wait = "all"
)

// enough returns the function that decides whether to stop before all objects are ready; nil means never.
func (o Options) enough() func(reconciler.Result) bool {
	if o.Enough != nil || o.Wait == WaitReady {
		return o.Enough
	}
	return func(result reconciler.Result) bool {
		return written(result.Inventory, o.Wait.last()) || o.Wait == WaitWave && len(result.Waits) > 0
	}
}

// last returns the highest apply order of the objects that the operation must write. Post-apply hooks need everything
// else to be ready. On-failure hooks are recorded only when they are applied.
func (w Wait) last() int {
	if w == WaitNothing {
		return types.MaxOrder
	}
	return types.PostApplyOrder + types.MaxOrder
}

// Apply carries out the plan. The error is a RefusedError if the user has to decide, a NotReadyError if not all objects
// became ready, and an InterruptedError if the context has ended. If IsChanged is true for it, another plan is needed,
// and the end of the operation was not shown.
func (p *Plan) Apply(ctx context.Context, options Options) error {
	b := p.board()
	err := runner.Interrupted(ctx, p.apply(ctx, options, b))
	b.Finish(applied(p, options, err), err)
	return err
}

// CheckOvertaken returns an InterruptedError if the options cancel older operations and the process that has begun last
// was started later than this one. In that case it has shown the end of the operation.
func CheckOvertaken(p *Plan, options Options) error {
	err := runner.CheckOvertaken(p.connection, p.Release, options.Limits)
	if err != nil {
		p.board().Finish(applied(p, options, err), err)
	}
	return err
}

func (p *Plan) board() *runner.Board {
	return runner.NewBoard(p.connection, string(p.Operation), p.Release.String(), p.Revision.Number)
}

func applied(plan *Plan, options Options, err error) display.Outcome {
	release := fmt.Sprintf("release %s, revision %d", plan.Release, plan.Revision.Number)
	interrupted, isInterrupted := errors.AsType[*releases.InterruptedError](err)
	switch {
	case isInterrupted && interrupted.Untouched:
		// The planned revision will not exist; another one may have its number.
		return display.Outcome{Summary: fmt.Sprintf("release %s: %s", plan.Release, releases.Summary(err)), Next: releases.Next(err, plan.Release)}
	case err != nil && options.Reverts && releases.IsFailure(err) && plan.NeverReady():
		return display.Outcome{Summary: release + ": " + releases.Summary(err)}
	case err != nil:
		return display.Outcome{Summary: release + ": " + releases.Summary(err), Next: plan.next(options.Limits, err)}
	case options.Wait != WaitReady && !written(plan.Release.Inventory, options.Wait.last()):
		return display.Outcome{
			Done: true, Summary: release + ", is applied up to the first wave that is not ready",
			Next: fmt.Sprintf("To apply the remaining waves when it is ready: clm apply %s SOURCE... -n %s", plan.Release.Name, plan.Release.Namespace),
		}
	case options.Wait != WaitReady && !written(plan.Release.Inventory, WaitWritten.last()):
		return display.Outcome{
			Done: true, Summary: release + ", is applied",
			Next: fmt.Sprintf("To run the post-apply hooks when it is ready: clm apply %s SOURCE... -n %s", plan.Release.Name, plan.Release.Namespace),
		}
	case options.Wait != WaitReady:
		return display.Outcome{Done: true, Summary: release + ", is applied"}
	default:
		next := slices.DeleteFunc([]string{SparedText(plan.spared), keptText(plan.Release)}, func(text string) bool { return text == "" })
		return display.Outcome{Done: true, Summary: release + ", is ready", Next: strings.Join(next, "\n")}
	}
}

// keptText lists the objects that are kept although they are no longer in the manifests; empty if there are none.
func keptText(release *releases.Release) string {
	kept := display.Kept(release.Inventory)
	if kept == "" {
		return ""
	}
	return "Kept, although no longer in the manifests: " + kept
}

// NeverReady reports whether the revision of a failed plan was never ready.
func (p *Plan) NeverReady() bool {
	ready := p.Release.LastReady()
	return ready == nil || ready.Number != p.Release.Current().Number
}

// Await carries out an idle plan: it waits according to the options, and changes nothing. If an object has to be
// changed after all, IsChanged is true for the error.
func (p *Plan) Await(ctx context.Context, options Options) error {
	b := p.board()
	err := p.await(ctx, options, b)
	outcome := display.Outcome{Done: err == nil, Summary: fmt.Sprintf("release %s, revision %d, is up to date", p.Release, p.Revision.Number), Next: keptText(p.Release)}
	if err != nil {
		outcome.Summary, outcome.Next = fmt.Sprintf("release %s, revision %d: %s", p.Release, p.Revision.Number, releases.Summary(err)), p.next(options.Limits, err)
	}
	b.Finish(outcome, err)
	return err
}

func (p *Plan) await(ctx context.Context, options Options, b *runner.Board) error {
	ctx, stop := runner.Limited(ctx, options.Timeout)
	defer stop()
	changed := releases.Changed(p.Release)
	request := p.request(unsaved{})
	request.RerunFailed = false
	request.Fence = func() error { return changed }
	c := &runner.Convergence{
		Target: p.target, Board: b, Timeout: options.Timeout, Phase: runner.AppliedPhase, Enough: options.enough(),
		Call: func(ctx context.Context) (reconciler.Result, error) {
			result, err := p.target.Engine().Apply(ctx, request)
			request.Inventory = result.Inventory
			if !result.Done {
				b.Expect(result.Inventory)
			}
			return result, err
		},
	}
	_, err := c.Run(ctx)
	if releases.IsChanged(err) {
		return changed
	}
	return err
}

// unsaved is a store that saves nothing.
type unsaved struct{}

func (unsaved) Save(context.Context, []*reconciler.InventoryItem) error { return nil }

func (p *Plan) apply(ctx context.Context, options Options, b *runner.Board) error {
	o, done, err := runner.Begin(ctx, p.connection, p.Release, b, options.Limits)
	if lacksNamespace(err) {
		if err := createNamespace(ctx, p); err != nil {
			return err
		}
		o, done, err = runner.Begin(ctx, p.connection, p.Release, b, options.Limits)
	}
	if err != nil {
		return err
	}
	err = p.CarryOut(ctx, o, options)
	done()
	if releases.IsChanged(err) {
		// Another attempt would have a new lock, without this request. Giving the lock back has also found a late
		// request.
		return cmp.Or(o.CheckCanceled(), err)
	}
	return err
}

// acknowledge checks, before a revision is replaced, whether it has become ready after the process that applied it
// stopped waiting. If so, it counts as ready, even if it was canceled: the next revision is not an installation, and a
// revert returns to this one. This is recorded with the next revision.
func acknowledge(ctx context.Context, c *runner.Connection, release *releases.Release) error {
	if release.Current().State == releases.RevisionReady {
		return nil
	}
	ready, err := becameReady(ctx, c, release)
	if ready {
		current := release.Current()
		current.State, current.CanceledBy, release.State, release.Message = releases.RevisionReady, "", releases.StateReady, ""
		current.Failure = ""
	}
	return err
}

// becameReady reports whether the current revision is recorded as ready, or has become ready after the process that
// applied it stopped waiting.
func becameReady(ctx context.Context, c *runner.Connection, release *releases.Release) (bool, error) {
	if release.Current().State == releases.RevisionReady {
		return true, nil
	}
	snapshot, err := views.Look(ctx, c, release.Namespace, release.Name, live.NoReasons)
	if err != nil {
		return false, err
	}
	return snapshot.Release != nil && snapshot.Release.SameRecord(release) && snapshot.BecameReady(), nil
}

// next returns advice after an operation that ended with an error, including how to return to the last revision that
// was ready; may be empty.
func (p *Plan) next(limits runner.Limits, err error) string {
	advice := limits.Next(err, p.Release)
	if p.Operation != Apply && p.Operation != Rollback || limits.Instead != "" && advice == limits.Instead {
		return advice
	}
	texts := []string{releases.Next(err, p.Release)}
	switch ready := p.Release.LastReady(); {
	case !releases.IsFailure(err):
	case limits.Instead != "":
		texts = append(texts, limits.Instead)
	case ready != nil && p.NeverReady() && p.Revision.Target != ready.Number:
		texts = append(texts, fmt.Sprintf("To return to revision %d: clm rollback %s %d -n %s", ready.Number, p.Release.Name, ready.Number, p.Release.Namespace))
	}
	return strings.TrimPrefix(strings.Join(texts, "\n"), "\n")
}

// An application is a plan that is being carried out by an operation on its release.
type application struct {
	operation *runner.Operation
	plan      *Plan
	options   Options
	// former is the state of the release before the operation, with its message.
	former        releases.State
	formerMessage string
}

// CarryOut carries out the plan in an operation on its release, if the release has not changed since the plan was made.
// Errors are those of Apply.
func (p *Plan) CarryOut(ctx context.Context, o *runner.Operation, options Options) error {
	a := &application{operation: o, plan: p, options: options, former: p.Release.State, formerMessage: p.Release.Message}
	err := a.confirm(ctx)
	// A canceled operation must not plan again, even if its plan is outdated.
	if canceled := o.CheckCanceled(); canceled != nil {
		return canceled
	}
	if err != nil {
		return err
	}
	ctx, stop := o.WatchLock(ctx)
	defer stop()
	if err := a.enter(ctx); err != nil {
		return o.UnlessChanged(err)
	}
	// The record of enter is complete before the operation can be canceled.
	ctx, stopListening := o.UntilCanceled(ctx)
	defer stopListening()
	ctx, stopTimer := runner.Limited(ctx, options.Timeout)
	defer stopTimer()
	result, err := a.converge(ctx)
	left := a.leave(ctx, result, err)
	return errors.Join(err, left)
}

// confirm returns an error if the plan is outdated, before anything is recorded.
func (a *application) confirm(ctx context.Context) error {
	if a.plan.Release.Recorded() || a.plan.Release.Ancestor {
		// If the record has changed since it was read, the write in enter fails. But it leaves chunks of the revision,
		// to which nothing refers if the record is gone. For a new release, the index is written first.
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
	request.Expected = a.plan.Exact
	request.Fence = func() error { return errOnlyChecked }
	if _, err := a.plan.target.Engine().Apply(ctx, request); err != nil && !errors.Is(err, errOnlyChecked) {
		return err
	}
	return nil
}

// enter records that the revision is being applied. The same write records the first inventory of the engine.
func (a *application) enter(ctx context.Context) error {
	a.operation.Sign()
	if a.plan.Release.Recorded() && !a.plan.New && a.plan.Release.State == releases.StateReady && a.plan.Release.RecordedState() == releases.StateReady {
		// The release stays ready while drift is corrected, unless it became ready after a failed operation, which is
		// not recorded yet.
		return nil
	}
	if inventory := a.plan.Exact.Inventory; inventory != nil {
		a.plan.Release.Inventory = inventory
	}
	var err error
	if a.plan.New {
		if a.plan.confirm == nil { // otherwise, Helm has made it
			a.plan.Revision.By = a.plan.connection.User()
		}
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
	request := a.plan.request(a.operation)
	request.Fence, request.CarryOn = a.operation.Fence(ctx), a.options.Wait == WaitNothing
	if a.options.Exact {
		request.Expected = a.plan.Exact
	}
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

// call makes one call of the engine, and changes the request for the next one.
func (a *application) call(ctx context.Context, request *reconciler.ApplyRequest) (reconciler.Result, error) {
	request.Inventory = a.plan.Release.Inventory
	result, err := a.plan.target.Engine().Apply(ctx, *request)
	a.plan.Release.Inventory = result.Inventory
	a.operation.Board().Expect(result.Inventory)
	if err == nil {
		request.Expected = nil
	}
	// From now on, the inventory determines what runs again.
	request.RerunFailed = request.RerunFailed && err != nil && written(result.Inventory, math.MaxInt)
	return result, err
}

// written reports whether all objects up to an apply order are applied.
func written(inventory []*reconciler.InventoryItem, upTo int) bool {
	return !slices.ContainsFunc(inventory, func(item *reconciler.InventoryItem) bool {
		return item.Phase == reconciler.PhaseScheduledForApplication && item.ApplyOrder <= upTo
	})
}

// maxFailure is the maximum length of a failure reason in a revision, in bytes: the index of a release has all
// revisions.
const maxFailure = 1024

// noteFailure stores in the revision why it is not ready, because the message of the release will be replaced.
func noteFailure(revision *releases.Revision, reason string) {
	revision.Failure = ""
	if revision.State != releases.RevisionReady && revision.CanceledBy == "" {
		revision.Failure = texts.Truncate(reason, maxFailure)
	}
}

// unawait records that Jobs that remove themselves and are no longer awaited need not exist: they must not run again
// just because they are gone and their outcome is unknown.
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
	interrupted, isInterrupted := errors.AsType[*releases.InterruptedError](failure)
	return a.operation.Record(ctx, func(release *releases.Release) {
		current := release.Current()
		switch {
		case failure == nil && result.Done:
			release.State, release.Message, current.State = releases.StateReady, "", releases.RevisionReady
		case failure == nil && a.options.Enough != nil:
			// Otherwise the state of the release is as before.
			release.State, release.Message = a.former, a.formerMessage
			current.State = cmp.Or(map[releases.State]releases.RevisionState{
				releases.StateReady: releases.RevisionReady, releases.StateFailed: releases.RevisionFailed,
			}[a.former], releases.RevisionApplying)
		case failure == nil || isInterrupted:
			// The next operation continues.
			if failure == nil {
				unawait(a.plan)
			}
			release.State = releases.StateApplying
			release.Message = "not everything was ready when the last operation ended"
			if isInterrupted && interrupted.CanceledBy != "" {
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
			// The user may continue a rollback with the number of its target revision, which must not be pruned.
			release.Prune(a.options.HistoryMax, a.options.HistoryMaxBytes)
		}
	})
}
