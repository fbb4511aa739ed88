// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"cmp"
	"context"
	"fmt"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/executor"
	"github.com/component-operator/runtime/pkg/reconciler/internal/report"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// applier applies one wanted dependent: it observes, decides, and makes a request. It is safe for concurrent use for different
// dependents.
type applier struct {
	call *calls.Call

	remover         *Remover
	recordAdoptions bool
	written         []bool // by the index of the desired object; whether this call has written it
	changed         []bool // likewise; whether that has changed it
}

// applyQuietly handles a dependent that needs no request. It reports false if the dependent may need one.
func (a *applier) applyQuietly(t *desired.Object) (outcome, bool) {
	item := a.call.Ledger.Of(t)
	if bookkeeping.IsCompleting(item) {
		return outcome{item: item, ready: true}, true
	}
	if bookkeeping.IsDismissed(item) {
		return a.dismissed(item), true
	}
	if item.Phase == inventory.PhaseFailed || item.Barrier != "" {
		// The object still exists, so its deletion has to continue.
		return outcome{}, false
	}
	seen, view := a.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	if view != observe.Present || a.call.Server.Outdated(t.Key, seen) || item.Phase == inventory.PhaseScheduledForApplication {
		return outcome{}, false
	}
	s := a.call.Pacing.Paced(t, item, decisions.Situation{Owner: a.call.Owner.Label, Exists: true, Seen: seen})
	d := decisions.Apply(t, item, s)
	if d.Action != decisions.Keep || status.InProgressStatus == seen.Status && isClaim(t.Key) {
		return outcome{}, false
	}
	a.call.Report.RequeueAfter(d.Again)
	return a.settled(t, s), true
}

// applyOne observes a wanted object, decides, and makes one mutating request (some update policies need a second one, which
// removes fields that others added).
func (a *applier) applyOne(ctx context.Context, t *desired.Object) (outcome, error) {
	item := a.call.Ledger.Of(t)
	a.call.Barriers.Reach(item)
	if item.Phase == inventory.PhaseFailed {
		return a.dismissed(item), a.dismiss(ctx, t)
	}
	s, err := a.call.Server.Look(ctx, item)
	return a.applySeen(ctx, t, s, err)
}

// applySeen is applyOne after the first observation, which may have failed.
func (a *applier) applySeen(ctx context.Context, t *desired.Object, s decisions.Situation, err error) (outcome, error) {
	item := a.call.Ledger.Of(t)
	var fight decisions.Contention
	for attempt := 0; err == nil && attempt < server.MaxAttempts; attempt++ {
		if !a.written[t.Index] {
			if s, err = a.call.Pacing.Expected.AsExpected(ctx, item, s); err != nil {
				break
			}
		}
		s = a.call.Pacing.Paced(t, item, s)
		d := decisions.Apply(t, item, s)
		a.call.Report.RequeueAfter(d.Again)
		var o outcome
		var again bool
		if o, again, err = a.execute(ctx, t, s, d); !again && err == nil {
			if o.adopting != nil {
				return o, nil
			}
			if !o.keepsBarrier {
				if err = a.call.Barriers.Lift(ctx, item); err != nil {
					break
				}
			}
			if !o.ready {
				a.call.LookAgain(item)
			}
			return o, nil
		}
		if again || answers.IsOutdated(err) {
			answer, before := err, s
			s, err = a.call.Server.Ask(ctx, item)
			fight.Met(answer, before, s)
		}
	}
	if err == nil {
		a.call.Retry(item)
		return outcome{item: item, message: fight.Message(), unwritten: true}, nil
	}
	return a.waitFor(t, item, err)
}

// waitFor makes an error that is expected to go away an outcome that the call waits for.
func (a *applier) waitFor(t *desired.Object, item *inventory.Item, err error) (outcome, error) {
	if reason, ok := answers.Awaitable(err); ok {
		var health report.Health
		if t.AwaitsType && cluster.IsNoMatch(err) {
			reason = fmt.Sprintf("its type %s %s is not served", t.GVK().GroupVersion(), t.Key.Kind)
			health.Reason = inventory.NoticeReasonBlocked
		}
		a.call.Retry(item)
		return outcome{item: item, message: reason, health: health, doomed: answers.IsDoomed(err), unwritten: true}, nil
	}
	if answers.IsRefusal(err) {
		return outcome{}, &inventory.RefusedError{Problems: []string{fmt.Sprintf("%s: %s", t.Key, decisions.RejectionText(t, a.call.Server.Keys.Prefix, err))}, Rejected: true}
	}
	return outcome{}, fmt.Errorf("applying %s: %w", t.Key, err)
}

// execute carries out a decision. The decision must be repeated (again) if it needs the answer of the server.
func (a *applier) execute(ctx context.Context, t *desired.Object, s decisions.Situation, d decisions.Decision) (o outcome, again bool, err error) {
	item := a.call.Ledger.Of(t)
	if err := a.call.Aliases.RefuseWrite(t, s, d); err != nil {
		return o, false, err
	}
	if a.unrecordedAdoption(item, d) {
		return outcome{item: item, adopting: &s}, false, nil
	}
	switch d.Action {
	case decisions.Keep:
		o, err = a.kept(ctx, t, s)
		return o, false, err
	case decisions.Ask:
		return o, true, nil
	case decisions.Await:
		o, err = a.awaitEnd(ctx, t, s, d)
		return o, false, err
	case decisions.Refuse:
		item.Holder = ""
		return o, false, &inventory.RefusedError{Problems: []string{fmt.Sprintf("%s: %s", t.Key, d.Message)}, Foreign: s.Seen.Record == ""}
	case decisions.Report, decisions.Cede:
		return a.leftToOthers(t, s, d), false, nil
	case decisions.Complete, decisions.Dismiss:
		return a.ended(t, d), false, nil
	case decisions.Compare:
		o, err = a.compare(ctx, t, s)
		return o, false, err
	case decisions.Create:
		o, err = a.create(ctx, t, s, d)
		return o, false, err
	case decisions.Write, decisions.Verify:
		return a.overwrite(ctx, t, s, d)
	case decisions.Mark:
		o, err = a.mark(ctx, t, s, d)
		return o, false, err
	case decisions.Recreate:
		return a.recreate(ctx, t, s, d)
	default:
		return o, false, fmt.Errorf("applying %s: unknown action %d", t.Key, d.Action)
	}
}

// overwrite applies the manifest to the observed object. If the result is rejected, it replaces the object, or recreates it, as far as the policies permit that.
func (a *applier) overwrite(ctx context.Context, t *desired.Object, s decisions.Situation, d decisions.Decision) (outcome, bool, error) {
	o, err := a.write(ctx, t, s, d)
	if !answers.IsInvalid(err) {
		return o, false, err
	}
	remedy, object, err := a.call.Executor.Remedy(ctx, t, a.call.Ledger.Of(t), s, err)
	switch {
	case err != nil:
		return o, false, err
	case remedy == executor.Replaced:
		s.Seen, a.changed[t.Index] = a.call.Server.Reader.Read(object), true
		o, err = a.write(ctx, t, s, d)
		return o, false, err
	case s.Relation == inventory.RelationOlder:
		// The sibling must know that the object is not its own any more before it vanishes.
		_, err := a.mark(ctx, t, s, d)
		a.call.Ledger.Of(t).Phase = inventory.PhaseScheduledForApplication
		return o, err == nil, err
	default:
		return a.recreate(ctx, t, s, d)
	}
}

// settled records the observed status of a dependent, and returns the outcome.
func (a *applier) settled(t *desired.Object, s decisions.Situation) outcome {
	item := a.call.Ledger.Of(t)
	a.call.Aliases.Take(s.Seen.UID, types.IDOf(item))
	item.Status, item.Holder = s.Seen.Status, ""
	if !t.Unawaited {
		a.call.Report.Grades(item, s.Seen.Grade, s.Seen.Message)
	}
	o := a.judged(t, s)
	if a.mayRelease(t, s) {
		o.releasing = &s
	}
	return o
}

// leftToOthers returns the outcome for a dependent that is not written because of what others have done.
func (a *applier) leftToOthers(t *desired.Object, s decisions.Situation, d decisions.Decision) outcome {
	if d.Action == decisions.Cede {
		return a.ceded(t, s, d)
	}
	return a.reported(t, s, d)
}

// ceded records that a newer sibling has the object, and returns the outcome.
func (a *applier) ceded(t *desired.Object, s decisions.Situation, d decisions.Decision) outcome {
	item := a.call.Ledger.Of(t)
	item.Holder = s.Holder
	if !s.Exists {
		return outcome{item: item, message: d.Message, unwritten: true}
	}
	item.Status = s.Seen.Status
	return a.judged(t, s)
}

// judged returns the outcome for a dependent whose status is recorded.
func (a *applier) judged(t *desired.Object, s decisions.Situation) outcome {
	item := a.call.Ledger.Of(t)
	if !s.Seen.Deadline.IsZero() {
		a.call.Report.RequeueAfter(max(s.Seen.Deadline.Sub(a.call.Server.Clock.Now()), 0) + 1)
	}
	switch {
	case s.Seen.Status == status.CurrentStatus:
		item.Phase = inventory.PhaseReady
		return outcome{item: item, ready: true}
	case t.Unawaited:
		return outcome{item: item, ready: true}
	case s.Seen.Status == status.FailedStatus:
		a.call.Report.Fails(item, s.Seen.Message)
		return outcome{item: item, message: "failed: " + s.Seen.Message, health: healthOf(t, s)}
	default:
		return a.timed(t, outcome{item: item, message: cmp.Or(s.Seen.Message, "status is "+s.Seen.Status.String()), health: healthOf(t, s)})
	}
}

// healthOf returns what is known about the health of a dependent.
func healthOf(t *desired.Object, s decisions.Situation) report.Health {
	return report.Health{Reason: s.Seen.Reason, Grade: s.Seen.Grade, Grace: t.Grace}
}

// timed applies the timeout of a desired object to the outcome for a dependent that is not ready. A dependent that was ready since it was written has all
// the time it needs.
func (a *applier) timed(t *desired.Object, o outcome) outcome {
	ready := o.item.Phase != inventory.PhaseCreating && o.item.Phase != inventory.PhaseUpdating
	if t.ReadyTimeout == 0 || ready || o.item.LastAppliedAt == nil {
		return o
	}
	if left := o.item.LastAppliedAt.Add(t.ReadyTimeout).Sub(a.call.Server.Clock.Now()); left > 0 {
		a.call.Report.RequeueAfter(left)
		return o
	}
	o.message = fmt.Sprintf("not ready within %s: %s", t.ReadyTimeout, o.message)
	if o.overdue = t.Continues; !o.overdue {
		a.call.Report.Fails(o.item, o.message)
	}
	return o
}

// kept returns the outcome for a dependent that is up to date.
func (a *applier) kept(ctx context.Context, t *desired.Object, s decisions.Situation) (outcome, error) {
	item := a.call.Ledger.Of(t)
	o := a.settled(t, s)
	if !o.ready && s.Seen.Status == status.InProgressStatus && isClaim(t.Key) {
		awaits, err := a.awaitsConsumer(ctx, t, item, s.Seen.UID)
		if err != nil {
			return outcome{}, err
		}
		o.ready = awaits
	}
	return o, nil
}

// reported returns the outcome for a dependent whose drift is not corrected. Drift does not make a dependent unready.
func (a *applier) reported(t *desired.Object, s decisions.Situation, d decisions.Decision) outcome {
	item := a.call.Ledger.Of(t)
	a.call.Report.Drifts(item, d.Message)
	if !s.Exists {
		// An object that stays absent because of its drift policy counts as ready; one that is only created later does not.
		return outcome{item: item, ready: d.Again == 0, message: d.Message, unwritten: true}
	}
	return a.settled(t, s)
}

// awaitEnd waits until a wanted object that others have deleted is gone. It removes our finalizer, which has nothing left to
// protect once the outcome of the object is recorded.
func (a *applier) awaitEnd(ctx context.Context, t *desired.Object, s decisions.Situation, d decisions.Decision) (outcome, error) {
	item := a.call.Ledger.Of(t)
	if !t.FailsFinally || item.Status != status.FailedStatus {
		item.Status = status.TerminatingStatus
	}
	if a.call.Executor.Holds(s) {
		ended, err := a.endedBefore(ctx, t, s)
		if err != nil {
			return outcome{}, err
		}
		if ended {
			return outcome{item: item, message: d.Message, unwritten: true, releasing: &s}, nil
		}
		if err := a.call.Executor.RemoveFinalizer(ctx, item); err != nil {
			return outcome{}, err
		}
	}
	return outcome{item: item, message: d.Message, keepsBarrier: true, unwritten: true, health: report.Health{Recreating: true}}, retryDeletion(ctx, a.call, item, s)
}

// ended records that the object is gone because it has served its purpose, or has failed.
func (a *applier) ended(t *desired.Object, d decisions.Decision) outcome {
	item := a.call.Ledger.Of(t)
	if d.Action == decisions.Dismiss {
		bookkeeping.Dismiss(item)
		return a.dismissed(item)
	}
	bookkeeping.Complete(item)
	a.call.Report.Acted(inventory.VerbCompleted, t.ApplyOrder, item, "has finished")
	return outcome{item: item, ready: true}
}
