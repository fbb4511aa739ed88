// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Options say how a plan is carried out.
type Options struct {
	runner.Limits

	// Wait is what the operation waits for. Unless that is WaitReady, redundant objects stay until the next operation
	// if not all others are ready.
	Wait Wait
	// HistoryMax is the number of revisions to keep; the current one and the last one that was ready are kept in any
	// case. Defaults to all.
	HistoryMax int
	// HistoryMaxBytes is how many bytes the contents of the kept revisions may take, as they are stored. The oldest
	// revisions go first; the current one and the last one that was ready are kept in any case. Defaults to no limit.
	HistoryMaxBytes int64
	// Exact refuses to do anything but what the plan says.
	Exact bool
	// Enough ends the operation before all objects are ready, as soon as it returns true for a result of the engine. It
	// overrides Wait. Defaults to none.
	Enough func(result reconciler.Result) bool
	// Reverts says that the caller reverts a failed revision that was never ready, so that no other advice is given.
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

// enough returns the function that decides whether to stop before all objects are ready; nil if there is no such case.
func (o Options) enough() func(reconciler.Result) bool {
	if o.Enough != nil {
		return o.Enough
	}
	return o.Wait.enough()
}

// enough returns the function that decides whether to stop before all objects are ready; nil if there is no such case.
func (w Wait) enough() func(reconciler.Result) bool {
	switch w {
	case WaitReady:
		return nil
	case WaitWave:
		return func(result reconciler.Result) bool {
			return written(result.Inventory, w.last()) || len(result.Waits) > 0
		}
	case WaitWritten, WaitNothing:
	}
	return func(result reconciler.Result) bool { return written(result.Inventory, w.last()) }
}

// last is the highest apply order of the objects that the operation writes. Post-apply hooks need everything else to be
// ready. On-failure hooks are recorded only when they are applied.
func (w Wait) last() int {
	if w == WaitNothing {
		return types.MaxOrder
	}
	return types.PostApplyOrder + types.MaxOrder
}

// Apply carries out the plan. The error is a RefusedError if the user has to decide, a NotReadyError if not all objects
// became ready, an InterruptedError if the context has ended, and one of which IsChanged is true if another plan is to
// be made: then the end of the operation was not shown.
func (p *Plan) Apply(ctx context.Context, options Options) error {
	b := p.board()
	err := runner.Interrupted(ctx, p.apply(ctx, options, b))
	b.Finish(applied(p, options, err), err)
	return err
}

// CheckOvertaken returns an InterruptedError if the options say that older operations are canceled, and the process
// that has begun last was started later than this one. The end of the operation was shown then.
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
	var interrupted *releases.InterruptedError
	switch {
	case errors.As(err, &interrupted) && interrupted.Untouched:
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

// keptText names the objects that are kept although they are not declared any more; empty if there are none.
func keptText(release *releases.Release) string {
	kept := display.Kept(release.Inventory)
	if kept == "" {
		return ""
	}
	return "Kept, although no longer in the manifests: " + kept
}

// NeverReady reports whether the revision of a plan that has failed was never ready.
func (p *Plan) NeverReady() bool {
	ready := p.Release.LastReady()
	return ready == nil || ready.Number != p.Release.Current().Number
}

// Await carries out an idle plan: it waits as the options say, and changes nothing. If an object has to be changed
// after all, the error is one of which IsChanged is true.
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
	changed := &releases.ChangedError{Release: p.Release.String()}
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
		// The next attempt has another lock, without requests so far. A request that came late was found
		// when the lock was given back.
		return cmp.Or(o.CheckCanceled(), err)
	}
	return err
}

// acknowledge checks, before a revision is replaced, whether it has become ready after the process that applied it had
// stopped waiting. If so, it counts as ready: the next revision is no installation, and a revert returns to this one.
// That it was canceled before does not matter any more. The record says so as soon as the next revision is recorded.
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

// becameReady reports whether the current revision is recorded as ready, or has become so after the process that
// applied it had stopped waiting.
func becameReady(ctx context.Context, c *runner.Connection, release *releases.Release) (bool, error) {
	if release.Current().State == releases.RevisionReady {
		return true, nil
	}
	snapshot, err := views.Look(ctx, c, release.Namespace, release.Name, views.NoReasons)
	if err != nil {
		return false, err
	}
	return snapshot.Release != nil && snapshot.Release.SameRecord(release) && snapshot.BecameReady(), nil
}

// next says what to do after an operation that has ended with an error, including how to return to the last revision
// that was ready; may be empty.
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
