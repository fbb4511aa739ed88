// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/pkg/component/internal/health"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/panics"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// ending has what a pass does after its steps, whatever their outcome.
type ending struct{ pass *pass }

// liftBarriers removes barriers if the pass did not reach the dependents, so that instances of types whose deletion has begun can be created again
// until it continues.
func (e ending) liftBarriers(ctx context.Context, o outcomes.Outcome) outcomes.Outcome {
	target := e.pass.destination.Target()
	if e.pass.engaged || target == nil || o.Kind == outcomes.Gone || o.Kind == outcomes.Abandoned ||
		!slices.ContainsFunc(e.pass.status.Inventory, func(item *reconciler.InventoryItem) bool { return item.Barrier != "" }) {
		return o
	}
	inventory, err := target.Engine.LiftBarriers(ctx, reconciler.DeleteRequest{Owner: e.pass.owner()})
	e.pass.status.Inventory = inventory
	if err != nil && o.Kind != outcomes.Error {
		return outcomes.Of(err)
	}
	return o
}

// keepRecord plans how to record the pass's changes of the inventory.
func (e ending) keepRecord(ctx context.Context, o outcomes.Outcome) outcomes.Outcome {
	if o.Kind == outcomes.Gone || o.Kind == outcomes.Abandoned {
		return o
	}
	o.Message += e.pass.record.Note()
	if err := e.pass.record.Keep(ctx); err != nil && o.Kind != outcomes.Error {
		return outcomes.Of(err)
	}
	return o
}

// conclude writes the status, reports the outcome, and returns when the next pass is due.
func (e ending) conclude(ctx context.Context, o outcomes.Outcome) (ctrl.Result, error) {
	e.pass.memory.posted = hookRun{}
	switch o.Kind {
	case outcomes.Gone:
		// Events about dependents go through the connection that ends here.
		e.pass.later.emit()
		e.pass.worker.leave(e.pass.key)
		return ctrl.Result{}, nil
	case outcomes.Abandoned:
		e.pass.later.emit()
		e.pass.log.Info("reconciliation ended early", "reason", o.Message)
		return ctrl.Result{RequeueAfter: abandonedDelay}, nil
	case outcomes.Continue, outcomes.Ready, outcomes.Progressing, outcomes.Held, outcomes.Failed, outcomes.Suspended, outcomes.Paused, outcomes.Archived, outcomes.Retriable,
		outcomes.Refused, outcomes.Error, outcomes.Blocked, outcomes.Deleting:
	}
	now := e.pass.worker.options.Clock.Now()
	d := decide(o, e.history(), e.pass.settings.timing, now)
	d.requeue = e.noteHealth(o, d, metav1.NewTime(now))
	e.noteRefusal(o)
	e.noteError(o)
	if panics.Is(o.Err) {
		d.next = e.panicDelay()
	}
	e.note(d, metav1.NewTime(now))
	d = e.completeStatus(o, d, metav1.NewTime(now))
	err := e.pass.record.Save(ctx)
	switch {
	case resource.IsRejected(err):
		e.pass.log.Error(err, "the status of the component cannot be written")
		e.pass.warn("StatusRejected", texts.Bound(err.Error()))
		return e.requeue(outcomes.Backoff(e.pass.memory.resource.Rejected(), e.pass.settings.timing.requeue)), nil
	case outcomes.Of(err).Kind == outcomes.Abandoned:
		return e.conclude(ctx, outcomes.Of(err))
	case err != nil:
		return ctrl.Result{}, err
	}
	e.noteReady(o.Kind, d.err, now)
	e.pass.later.emit()
	e.pass.worker.announcer.verdict(e.pass.subject, e.pass.log, e.pass.before, d.verdict, o.Kind)
	e.pass.worker.announcer.measure(e.pass.worker.series(e.pass.key), e.pass.status, d.reason)
	if panics.Is(d.err) {
		// The log has it. The controller would log each attempt, with another stack.
		delay := e.panicDelay()
		if o.Kind != outcomes.Error && d.requeue > 0 {
			// A status hook has panicked. That must not slow down what the pass has done.
			delay = min(delay, d.requeue)
		}
		e.pass.memory.panics++
		return e.requeue(delay), nil
	}
	e.pass.memory.panics = 0
	if d.err != nil {
		return ctrl.Result{}, d.err
	}
	return e.requeue(d.requeue), nil
}

// noteReady keeps what holds while the component is ready, and measures how long a change took.
func (e ending) noteReady(kind outcomes.Kind, failure error, now time.Time) {
	changed := e.pass.memory.changedAt
	if kind == outcomes.Ready {
		e.pass.memory.posted = e.pass.posted
	}
	if panics.Is(failure) {
		// The component shows an error.
		return
	}
	// All dependents are ready while deletions are held.
	if (kind == outcomes.Ready || kind == outcomes.Held) && !changed.IsZero() {
		e.pass.worker.metrics.BecameReady(now.Sub(changed))
	}
	// Work that a user has interrupted says nothing about the duration.
	if slices.Contains([]outcomes.Kind{outcomes.Ready, outcomes.Held, outcomes.Suspended, outcomes.Paused, outcomes.Archived}, kind) {
		e.pass.memory.changedAt = time.Time{}
	}
}

// noteRefusal counts consecutive refusals, and each new one in the metrics.
func (e ending) noteRefusal(o outcomes.Outcome) {
	if o.Kind != outcomes.Refused {
		e.pass.memory.refusals = 0
		if o.Kind != outcomes.Retriable {
			e.pass.memory.refused = ""
		}
		return
	}
	e.pass.memory.refusals++
	problems := o.Message
	if o.Refusal != nil {
		// The message has also how far on-failure hooks are.
		problems = o.Refusal.Error()
	}
	if e.pass.memory.refused != problems {
		e.pass.worker.metrics.Refused(refusalOf(o.Refusal))
		e.pass.memory.refused = problems
	}
}

// panicDelay returns the delay before the next pass after a panic.
func (e ending) panicDelay() time.Duration {
	return outcomes.Backoff(e.pass.memory.panics, min(e.pass.settings.timing.requeue, outcomes.LongestBackoff))
}

// noteError counts consecutive errors, as the queue does.
func (e ending) noteError(o outcomes.Outcome) {
	if o.Kind == outcomes.Error && !panics.Is(o.Err) {
		e.pass.memory.errors++
	} else {
		e.pass.memory.errors = 0
	}
}

// requeue schedules the next pass after a delay; zero means none. A short delay continues work in progress. Passes without a conclusion keep their
// priority.
func (e ending) requeue(delay time.Duration) ctrl.Result {
	priority := queue.PriorityPeriodic
	if delay < e.pass.settings.timing.requeue {
		priority = queue.PriorityWoken
	}
	return ctrl.Result{RequeueAfter: jittered(delay), Priority: &priority}
}

func (e ending) history() history {
	h := history{deleting: e.pass.deleting, refusals: e.pass.memory.refusals, errors: e.pass.memory.errors}
	if e.pass.status.ProcessingSince != nil {
		h.since = e.pass.status.ProcessingSince.Time
	}
	return h
}

// note writes a decision into the status in memory.
func (e ending) note(d decision, now metav1.Time) {
	switch {
	case d.since.IsZero():
		e.pass.status.ProcessingSince = nil
	case e.pass.status.ProcessingSince == nil || !e.pass.status.ProcessingSince.Time.Equal(d.since):
		e.pass.status.ProcessingSince = &metav1.Time{Time: d.since}
	}
	e.pass.status.LastObservedAt = &now
	e.pass.status.setState(d.verdict, now)
}

// noteHealth writes the condition that the generator names into the status in memory. It returns the delay until the next pass, which may be due earlier because of it.
func (e ending) noteHealth(o outcomes.Outcome, d decision, now metav1.Time) time.Duration {
	name := e.pass.worker.healthCondition()
	if name == "" {
		return d.requeue
	}
	facts := health.Facts{Outcome: o.Kind, Message: o.Message, Inventory: e.pass.status.Inventory, Since: d.since, Now: now.Time}
	if e.pass.result != nil {
		facts.Waits, facts.Failures = e.pass.result.Waits, e.pass.result.Failures
	}
	condition, known := health.Of(facts)
	if !known {
		return d.requeue
	}
	e.pass.status.setHealth(name, condition, now)
	if condition.Wake == 0 {
		return d.requeue
	}
	return min(cmp.Or(d.requeue, condition.Wake), max(condition.Wake, soonest))
}

// completeStatus runs the status hooks, and returns the decision with what they say about the next pass.
func (e ending) completeStatus(o outcomes.Outcome, d decision, now metav1.Time) decision {
	conclusion := Conclusion{
		Inventory: e.pass.status.Inventory, Result: e.pass.result, Plan: e.pass.plan, Err: o.Err, Refusal: o.Refusal,
		Archived: o.Kind == outcomes.Archived, Now: now.Rfc3339Copy(),
	}
	for i, hook := range e.pass.worker.statusHooks {
		var again time.Duration
		err := e.pass.worker.panics.Run(e.pass.log, func() (err error) {
			again, err = hook(e.pass.component, conclusion)
			return err
		})
		if err != nil && d.err == nil {
			d.err = fmt.Errorf("running status hook (%d): %w", i, err)
			if panics.Is(err) {
				d.verdict = verdict{state: StateError, reason: ReadyConditionReasonError, message: d.err.Error(), retried: true}
				e.pass.status.setState(d.verdict, now)
			}
		}
		if again > 0 && (d.requeue == 0 || again < d.requeue) {
			d.requeue = max(again, soonest)
		}
	}
	return d
}

// jittered adds 1 to 5 percent, so that components that were created together spread out.
func jittered(delay time.Duration) time.Duration {
	return delay + delay/100*time.Duration(1+rand.IntN(5))
}
