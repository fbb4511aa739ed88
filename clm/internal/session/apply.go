// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// ApplyOptions say how a plan is carried out.
type ApplyOptions struct {
	Limits

	// CreateNamespace creates the namespace of a new release if it does not exist.
	CreateNamespace bool
	// NoWait ends the operation as soon as everything is written, whether it is ready or not. What is no longer wanted stays until the
	// next operation then, because it goes only after everything is ready.
	NoWait bool
	// HistoryMax is how many revisions are kept; at least the current one, and the last one that was ready.
	HistoryMax int
	// Exact refuses to do anything else than what the plan says.
	Exact bool
	// Reverts says that the caller undoes what has failed, if the revision was never ready, so that nothing else is advised.
	Reverts bool
}

// Apply carries out a plan. The error is a RefusedError if somebody has to decide, a NotReadyError if not everything became ready,
// an InterruptedError if the context has ended, and one of which IsChanged is true if another plan is needed: then nothing was shown of the end.
func (s *Session) Apply(ctx context.Context, plan *Plan, options ApplyOptions) error {
	b := newBoard(s, string(plan.Operation), plan.Release.String())
	b.state.Revision = plan.Revision.Number
	err := s.apply(ctx, plan, options, b)
	b.finish(applied(plan, options, err), err)
	return err
}

func applied(plan *Plan, options ApplyOptions, err error) progress.Outcome {
	release := fmt.Sprintf("release %s, revision %d", plan.Release, plan.Revision.Number)
	switch {
	case err != nil && options.Reverts && IsFailure(err) && plan.NeverReady():
		return progress.Outcome{Summary: release + ": " + summaryOf(err)}
	case err != nil:
		return progress.Outcome{Summary: release + ": " + summaryOf(err), Next: nextAfter(err)}
	case options.NoWait:
		return progress.Outcome{Done: true, Summary: release + ", is written"}
	default:
		return progress.Outcome{Done: true, Summary: release + ", is ready", Next: sparedText(plan.spared)}
	}
}

// NeverReady tells whether the revision of a plan that has failed was not ready before, either.
func (p *Plan) NeverReady() bool {
	ready := p.Release.LastReady()
	return ready == nil || ready.Number != p.Release.Current().Number
}

// Await carries out a plan that is idle: it waits until everything is ready, unless that is not to be waited for, and changes nothing. If something
// has to be changed after all, it ends with an error of which IsChanged is true.
func (s *Session) Await(ctx context.Context, plan *Plan, options ApplyOptions) error {
	b := newBoard(s, string(plan.Operation), plan.Release.String())
	b.state.Revision = plan.Revision.Number
	err := s.await(ctx, plan, options, b)
	outcome := progress.Outcome{Done: err == nil, Summary: fmt.Sprintf("release %s, revision %d, is up to date", plan.Release, plan.Revision.Number)}
	if err != nil {
		outcome.Summary, outcome.Next = fmt.Sprintf("release %s, revision %d: %s", plan.Release, plan.Revision.Number, summaryOf(err)), nextAfter(err)
	}
	b.finish(outcome, err)
	return err
}

func (s *Session) await(ctx context.Context, plan *Plan, options ApplyOptions, b *board) error {
	ctx, stop := limited(ctx, options.Timeout)
	defer stop()
	changed := &changedError{release: plan.Release.String()}
	request := s.applyRequest(plan, unsaved{})
	request.Fence = func() error { return changed }
	c := &convergence{
		target:  plan.target,
		timeout: options.Timeout,
		call: func(ctx context.Context) (reconciler.Result, error) {
			result, err := plan.target.engine.Apply(ctx, request)
			request.Inventory = result.Inventory
			return result, err
		},
		took: func(result reconciler.Result, err error) {
			b.expect(result.Inventory, applyOrder)
			b.took(result, err, applyPhase(result))
		},
	}
	if options.NoWait {
		c.enough = written
	}
	_, err := c.run(ctx)
	if errors.Is(err, errChanged) {
		return changed
	}
	return err
}

// unsaved keeps nothing.
type unsaved struct{}

func (unsaved) Save(context.Context, []*reconciler.InventoryItem) error { return nil }

func (s *Session) apply(ctx context.Context, plan *Plan, options ApplyOptions, b *board) error {
	o, done, err := s.begin(ctx, plan.Release, b, options.Limits)
	if lacksNamespace(err) {
		if err := s.createNamespace(ctx, plan.Release.Namespace, options.CreateNamespace); err != nil {
			return err
		}
		o, done, err = s.begin(ctx, plan.Release, b, options.Limits)
	}
	if err != nil {
		return err
	}
	defer done()
	return o.carryOut(ctx, plan, options)
}

// carryOut does what the plan says if the release is still as it was when the plan was made.
func (o *operation) carryOut(ctx context.Context, plan *Plan, options ApplyOptions) error {
	if plan.Release.Recorded() || plan.Release.Ancestor {
		// What enter writes would be refused if the record has changed since it was read; but by then there are chunks of the revision, and if the
		// record has gone, nobody knows of them. Of a new release, the index comes first.
		if err := o.confirmUnchanged(ctx); err != nil {
			return err
		}
	}
	if options.Exact {
		if err := o.checkExact(ctx, plan); err != nil {
			return err
		}
	}
	ctx, stop := o.watchLock(ctx)
	defer stop()
	if err := o.enter(ctx, plan); err != nil {
		return o.unlessChanged(err)
	}
	ctx, stopTimer := limited(ctx, options.Timeout)
	defer stopTimer()
	result, err := o.converge(ctx, plan, options)
	return errors.Join(err, o.leave(ctx, result, err, options))
}

// errRehearsed ends a call of the engine that must not change anything.
var errRehearsed = errors.New("nothing must be changed yet")

// checkExact returns an error if the plan does not fit any more, before anything is recorded.
func (o *operation) checkExact(ctx context.Context, plan *Plan) error {
	request := o.applyRequest(plan, unsaved{})
	request.Expected = plan.exact
	request.Fence = func() error { return errRehearsed }
	if _, err := plan.target.engine.Apply(ctx, request); err != nil && !errors.Is(err, errRehearsed) {
		return err
	}
	return nil
}

// enter records that the revision is being applied, and in the same write what the engine would record first.
func (o *operation) enter(ctx context.Context, plan *Plan) error {
	if o.release.Recorded() && !plan.New && o.release.State == releases.StateReady {
		// It stays ready while what others have changed is put right.
		return nil
	}
	if inventory := plan.exact.Inventory; inventory != nil {
		o.release.Inventory = inventory
	}
	switch {
	case !o.release.Recorded():
		o.release.Revisions = append(o.release.Revisions, plan.Revision)
		return o.records.Create(ctx, o.release, plan.Content)
	case plan.New:
		return o.records.AddRevision(ctx, o.release, plan.Revision, plan.Content)
	default:
		o.release.State, o.release.Message = releases.StateApplying, ""
		if current := o.release.Current(); current.State != releases.RevisionReady {
			current.State = releases.RevisionApplying
		}
		return o.records.Save(ctx, o.release)
	}
}

// converge calls the engine until everything is ready.
func (o *operation) converge(ctx context.Context, plan *Plan, options ApplyOptions) (reconciler.Result, error) {
	request := o.applyRequest(plan, o)
	request.Fence = o.fence(ctx)
	if options.Exact {
		request.Expected = plan.exact
	}
	plan.target.seen = o.board.seen
	c := &convergence{
		target:  plan.target,
		timeout: options.Timeout,
		call: func(ctx context.Context) (reconciler.Result, error) {
			request.Inventory = o.release.Inventory
			result, err := plan.target.engine.Apply(ctx, request)
			o.release.Inventory = result.Inventory
			o.board.expect(result.Inventory, applyOrder)
			if err == nil {
				request.Expected = nil
			}
			return result, err
		},
		took: func(result reconciler.Result, err error) {
			o.board.took(result, err, applyPhase(result))
		},
	}
	if options.NoWait {
		c.enough = written
	}
	o.board.expectChanges(plan.Changes)
	o.board.expect(o.release.Inventory, applyOrder)
	o.board.say("applying")
	result, err := c.run(ctx)
	o.board.took(result, nil, applyPhase(result))
	if err != nil {
		err = errors.Join(err, o.liftBarriers(ctx, plan.target))
	}
	return result, err
}

func applyOrder(item *reconciler.InventoryItem) int { return item.ApplyOrder }

func applyPhase(result reconciler.Result) string {
	if result.Done {
		return ""
	}
	return fmt.Sprintf("waiting until wave %d is ready", result.Wave)
}

// written tells whether there is nothing left to be applied.
func written(result reconciler.Result) bool {
	for _, item := range result.Inventory {
		if item.Phase == reconciler.PhaseScheduledForApplication {
			return false
		}
	}
	return true
}

// leave records how the operation ended.
func (o *operation) leave(ctx context.Context, result reconciler.Result, failure error, options ApplyOptions) error {
	var interrupted *InterruptedError
	return o.record(ctx, func(release *releases.Release) {
		current := release.Current()
		switch {
		case failure == nil && result.Done:
			release.State, release.Message, current.State = releases.StateReady, "", releases.RevisionReady
		case failure == nil || errors.As(failure, &interrupted):
			// Whoever applies it next goes on with it.
			release.State = releases.StateApplying
			release.Message = "not everything was ready when the last operation ended"
		case current.State == releases.RevisionReady:
			// The revision had been ready; what failed was an attempt to put right what others have changed.
			release.State, release.Message = releases.StateFailed, failure.Error()
		default:
			release.State, release.Message, current.State = releases.StateFailed, failure.Error(), releases.RevisionFailed
		}
		if unready := current.State != releases.RevisionReady; options.HistoryMax > 0 && !(unready && current.Rollback) {
			// Whoever goes on with a rollback may do so by the number of the revision to which it leads.
			release.Prune(options.HistoryMax)
		}
	})
}
