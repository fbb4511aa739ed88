// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// An execution looks at objects, and executes what is decided about them. That of Apply and Delete is live: it makes
// requests, and says what has to be awaited. That of Plan is planned: it records the decisions, and everything counts
// as done and ready.
type execution interface {
	// openInstances prepares the stage of instances. If some of them lack a namespace, placed is false.
	openInstances(ctx context.Context, members []*prepare.Object) (placed bool, err error)
	// beginStep reads what the members of a step need, and returns them with complete manifests. If something is
	// missing, held is true.
	beginStep(ctx context.Context, members []*prepare.Object) (complete []*prepare.Object, held bool, err error)
	// endTier is called when a tier of desired objects is applied.
	endTier(tier []*prepare.Object) error
	// endStep extracts data of the members. If some are missing, held is true; waits means that the component waits for
	// objects of others.
	endStep(ctx context.Context, members []*prepare.Object) (held, waits bool, err error)
	// forms returns the suspended forms that have to be applied. If one cannot be made, held is true.
	forms(ctx context.Context, members []*prepare.Object) (forms []*prepare.Object, held bool, err error)

	// settle handles a desired object that need not be looked at; others are not settled.
	settle(t *prepare.Object) (o outcome, settled bool)
	// look looks at the object of a desired one, and lookAgain does after an attempt to apply that.
	look(ctx context.Context, item *inventory.Item) (decide.Situation, error)
	lookAgain(ctx context.Context, item *inventory.Item, last decide.Situation, attempt int) (decide.Situation, error)
	// apply executes a decision. The decision must be repeated (again) if it needs the answer of the server.
	apply(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (o outcome, again bool, err error)
	// unsettled returns the outcome for a desired object that was not applied: because of the error, or because it kept
	// changing, which the message says.
	unsettled(t *prepare.Object, message string, err error) (outcome, error)
	// dismissed returns the outcome for a dependent that has failed and was deleted.
	dismissed(item *inventory.Item) outcome

	// hold handles redundant objects that are deleted only with approval, and reports whether that has to be awaited.
	hold(ctx context.Context, concerned []Candidate, held *inventory.HeldDeletions) (awaited bool, err error)
	// lookForEnd looks at an object that should be gone.
	lookForEnd(ctx context.Context, item *inventory.Item) (decide.Situation, error)
	// end executes a decision about an object that should be gone.
	end(ctx context.Context, item *inventory.Item, s decide.Situation, d decide.Deletion, action decide.Ending, message string) (outcome, error)
	// unended returns the outcome for an object that was not ended; see unsettled.
	unended(item *inventory.Item, d decide.Deletion, message string, err error) (outcome, error)
}

// applyQuietly handles a dependent that need not be looked at. It reports false if the dependent may need requests.
func (w *Waves) applyQuietly(t *prepare.Object) (outcome, bool) {
	item := w.call.Ledger.Of(t)
	switch {
	case decide.IsCompleting(item):
		return outcome{item: item, ready: true}, true
	case decide.IsDismissed(item):
		return w.execution.dismissed(item), true
	case item.Phase == inventory.PhaseFailed || item.Barrier != "":
		// The object still exists, so its deletion has to continue.
		return outcome{}, false
	default:
		return w.execution.settle(t)
	}
}

// applyOne looks at a wanted object, decides, and executes the decision.
func (w *Waves) applyOne(ctx context.Context, t *prepare.Object) (outcome, error) {
	item := w.call.Ledger.Of(t)
	w.call.Barriers.Reach(item)
	if item.Phase == inventory.PhaseFailed {
		return w.execution.dismissed(item), w.dismiss(ctx, t)
	}
	s, err := w.execution.look(ctx, item)
	return w.applySeen(ctx, t, s, err)
}

// applySeen is applyOne after the first look, which may have failed. If the object changes meanwhile, it looks again.
func (w *Waves) applySeen(ctx context.Context, t *prepare.Object, s decide.Situation, err error) (outcome, error) {
	item := w.call.Ledger.Of(t)
	var fight decide.Contention
	for attempt := 0; err == nil && attempt < execute.MaxAttempts; attempt++ {
		if !w.written[t.Index] {
			if s, err = w.call.Pacing.Expected.AsExpected(ctx, item, s); err != nil {
				break
			}
		}
		s = w.call.Pacing.Paced(t, item, s)
		d := decide.Apply(t, item, s)
		w.call.Report.RequeueAfter(d.Again)
		var o outcome
		var again bool
		if o, again, err = w.execution.apply(ctx, t, s, d); !again && err == nil {
			if o.adopting != nil {
				return o, nil
			}
			if !o.keepsBarrier {
				if err = w.call.Barriers.Lift(ctx, item); err != nil {
					break
				}
			}
			if !o.ready {
				w.call.LookAgain(item)
			}
			return o, nil
		}
		if again || execute.IsOutdated(err) {
			answer, before := err, s
			s, err = w.execution.lookAgain(ctx, item, before, attempt)
			fight.Met(answer, before, s)
		}
	}
	return w.execution.unsettled(t, fight.Message(), err)
}

// deleteOne looks at a dependent that should be gone, decides, and executes the decision. The outcome is ready when the
// server says that the object does not exist.
func (r *Remover) deleteOne(ctx context.Context, item *inventory.Item, d decide.Deletion) (outcome, error) {
	var fight decide.Contention
	r.call.Barriers.Reach(item)
	s, err := r.execution.lookForEnd(ctx, item)
	for attempt := 0; err == nil && attempt < execute.MaxAttempts; attempt++ {
		if decide.IsRedundant(item) && s.Exists {
			if s, err = r.call.Pacing.Expected.AsExpected(ctx, item, s); err != nil {
				break
			}
			s.WantedAs = r.call.Aliases.Of(s.Seen.UID)
		}
		d.Prune = r.call.Prune(item, s.Seen)
		action, message := r.call.Owner.Ending(item, s, d)
		var o outcome
		if o, err = r.execution.end(ctx, item, s, d, action, message); err == nil {
			if !o.ready {
				r.call.LookAgain(item)
			}
			return o, nil
		}
		if execute.IsOutdated(err) || execute.IsTypeless(err) {
			answer, before := err, s
			s, err = r.call.Server.AskServed(ctx, item)
			fight.Met(answer, before, s)
		}
	}
	return r.execution.unended(item, d, fight.Message(), err)
}
