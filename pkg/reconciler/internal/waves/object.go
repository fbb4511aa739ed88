// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
)

// An execution looks at objects, and executes what is decided about them. That of Apply and Delete is live: it makes
// requests, and says what has to be awaited. That of Plan is planned: it records the decisions, and everything counts
// as done and ready.
type execution interface {
	// openInstances prepares the stage of instances. If some of them lack a namespace, placed is false.
	openInstances(ctx context.Context, members []*desired.Object) (placed bool, err error)
	// beginStep reads what the members of a step need, and returns them with complete manifests. If something is
	// missing, held is true.
	beginStep(ctx context.Context, members []*desired.Object) (complete []*desired.Object, held bool, err error)
	// endTier is called when a tier of desired objects is applied.
	endTier(tier []*desired.Object) error
	// endStep extracts data of the members. If some are missing, held is true; waits means that the component waits for
	// objects of others.
	endStep(ctx context.Context, members []*desired.Object) (held, waits bool, err error)
	// forms returns the suspended forms that have to be applied. If one cannot be made, held is true.
	forms(ctx context.Context, members []*desired.Object) (forms []*desired.Object, held bool, err error)

	// settle handles a desired object that need not be looked at; others are not settled.
	settle(t *desired.Object) (o outcome, settled bool)
	// look looks at the object of a desired one, and lookAgain does after an attempt to apply that.
	look(ctx context.Context, item *inventory.Item) (decisions.Situation, error)
	lookAgain(ctx context.Context, item *inventory.Item, last decisions.Situation, attempt int) (decisions.Situation, error)
	// apply executes a decision. The decision must be repeated (again) if it needs the answer of the server.
	apply(ctx context.Context, t *desired.Object, s decisions.Situation, d decisions.Decision) (o outcome, again bool, err error)
	// unsettled returns the outcome for a desired object that was not applied: because of the error, or because it kept
	// changing, which the message says.
	unsettled(t *desired.Object, message string, err error) (outcome, error)
	// dismissed returns the outcome for a dependent that has failed and was deleted.
	dismissed(item *inventory.Item) outcome

	// hold handles redundant objects that are deleted only with approval, and reports whether that has to be awaited.
	hold(ctx context.Context, concerned []calls.Candidate, held *inventory.HeldDeletions) (awaited bool, err error)
	// lookForEnd looks at an object that should be gone.
	lookForEnd(ctx context.Context, item *inventory.Item) (decisions.Situation, error)
	// end executes a decision about an object that should be gone.
	end(ctx context.Context, item *inventory.Item, s decisions.Situation, d decisions.Deletion, action decisions.Ending, message string) (outcome, error)
	// unended returns the outcome for an object that was not ended; see unsettled.
	unended(item *inventory.Item, d decisions.Deletion, message string, err error) (outcome, error)
}

// applyQuietly handles a dependent that need not be looked at. It reports false if the dependent may need requests.
func (w *Waves) applyQuietly(t *desired.Object) (outcome, bool) {
	item := w.call.Ledger.Of(t)
	switch {
	case bookkeeping.IsCompleting(item):
		return outcome{item: item, ready: true}, true
	case bookkeeping.IsDismissed(item):
		return w.execution.dismissed(item), true
	case item.Phase == inventory.PhaseFailed || item.Barrier != "":
		// The object still exists, so its deletion has to continue.
		return outcome{}, false
	default:
		return w.execution.settle(t)
	}
}

// applyOne looks at a wanted object, decides, and executes the decision.
func (w *Waves) applyOne(ctx context.Context, t *desired.Object) (outcome, error) {
	item := w.call.Ledger.Of(t)
	w.call.Barriers.Reach(item)
	if item.Phase == inventory.PhaseFailed {
		return w.execution.dismissed(item), w.dismiss(ctx, t)
	}
	s, err := w.execution.look(ctx, item)
	return w.applySeen(ctx, t, s, err)
}

// applySeen is applyOne after the first look, which may have failed. If the object changes meanwhile, it looks again.
func (w *Waves) applySeen(ctx context.Context, t *desired.Object, s decisions.Situation, err error) (outcome, error) {
	item := w.call.Ledger.Of(t)
	var fight decisions.Contention
	for attempt := 0; err == nil && attempt < server.MaxAttempts; attempt++ {
		if !w.written[t.Index] {
			if s, err = w.call.Pacing.Expected.AsExpected(ctx, item, s); err != nil {
				break
			}
		}
		s = w.call.Pacing.Paced(t, item, s)
		d := decisions.Apply(t, item, s)
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
		if again || server.IsOutdated(err) {
			answer, before := err, s
			s, err = w.execution.lookAgain(ctx, item, before, attempt)
			fight.Met(answer, before, s)
		}
	}
	return w.execution.unsettled(t, fight.Message(), err)
}

// deleteOne looks at a dependent that should be gone, decides, and executes the decision. The outcome is ready when the
// server says that the object does not exist.
func (r *Remover) deleteOne(ctx context.Context, item *inventory.Item, d decisions.Deletion) (outcome, error) {
	var fight decisions.Contention
	r.call.Barriers.Reach(item)
	s, err := r.execution.lookForEnd(ctx, item)
	for attempt := 0; err == nil && attempt < server.MaxAttempts; attempt++ {
		if bookkeeping.IsRedundant(item) && s.Exists {
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
		if server.IsOutdated(err) || server.IsTypeless(err) {
			answer, before := err, s
			s, err = r.call.Server.AskServed(ctx, item)
			fight.Met(answer, before, s)
		}
	}
	return r.execution.unended(item, d, fight.Message(), err)
}
