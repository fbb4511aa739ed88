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

	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// liftBarriers removes barriers if the pass did not reach the dependents, so that instances of types whose deletion has begun can be created again
// until it continues.
func (p *pass) liftBarriers(ctx context.Context, o outcomes.Outcome) outcomes.Outcome {
	target := p.destination.Target()
	if p.engaged || target == nil || o.Kind == outcomes.Gone || o.Kind == outcomes.Abandoned ||
		!slices.ContainsFunc(p.status.Inventory, func(item *reconciler.InventoryItem) bool { return item.Barrier != "" }) {
		return o
	}
	inventory, err := target.Engine.LiftBarriers(ctx, reconciler.DeleteRequest{Owner: p.owner()})
	p.status.Inventory = inventory
	if err != nil && o.Kind != outcomes.Error {
		return outcomes.Of(err)
	}
	return o
}

// keepRecord plans how to record the pass's changes of the inventory.
func (p *pass) keepRecord(ctx context.Context, o outcomes.Outcome) outcomes.Outcome {
	if o.Kind == outcomes.Gone || o.Kind == outcomes.Abandoned {
		return o
	}
	o.Message += p.record.Note()
	if err := p.record.Keep(ctx); err != nil && o.Kind != outcomes.Error {
		return outcomes.Of(err)
	}
	return o
}

// conclude writes the status, reports the outcome, and returns when the next pass is due.
func (p *pass) conclude(ctx context.Context, o outcomes.Outcome) (ctrl.Result, error) {
	p.memory.posted = hookRun{}
	switch o.Kind {
	case outcomes.Gone:
		// Events about dependents go through the connection that ends here.
		p.later.emit()
		p.worker.leave(p.key)
		return ctrl.Result{}, nil
	case outcomes.Abandoned:
		p.later.emit()
		p.log.Info("reconciliation ended early", "reason", o.Message)
		return ctrl.Result{RequeueAfter: abandonedDelay}, nil
	case outcomes.Continue, outcomes.Ready, outcomes.Progressing, outcomes.Held, outcomes.Failed, outcomes.Suspended, outcomes.Paused, outcomes.Archived, outcomes.Retriable,
		outcomes.Refused, outcomes.Error, outcomes.Blocked, outcomes.Deleting:
	}
	now := p.worker.options.Clock.Now()
	d := decide(o, p.history(), p.settings.timing, now)
	d.requeue = p.noteHealth(o, d, metav1.NewTime(now))
	p.noteRefusal(o)
	p.noteError(o)
	if generation.Is(o.Err) {
		d.next = p.panicDelay()
	}
	p.note(d, metav1.NewTime(now))
	d = p.completeStatus(o, d, metav1.NewTime(now))
	err := p.record.Save(ctx)
	switch {
	case resource.IsRejected(err):
		p.log.Error(err, "the status of the component cannot be written")
		p.warn("StatusRejected", outcomes.Bound(err.Error()))
		return p.requeue(outcomes.Backoff(p.memory.resource.Rejected(), p.settings.timing.requeue)), nil
	case outcomes.Of(err).Kind == outcomes.Abandoned:
		return p.conclude(ctx, outcomes.Of(err))
	case err != nil:
		return ctrl.Result{}, err
	}
	p.noteReady(o.Kind, d.err, now)
	p.later.emit()
	p.worker.announcer.verdict(p.subject, p.log, p.before, d.verdict, o.Kind)
	p.worker.announcer.measure(p.worker.series(p.key), p.status, d.reason)
	if generation.Is(d.err) {
		// The log has it. The controller would log each attempt, with another stack.
		delay := p.panicDelay()
		if o.Kind != outcomes.Error && d.requeue > 0 {
			// A status hook has panicked. That must not slow down what the pass has done.
			delay = min(delay, d.requeue)
		}
		p.memory.panics++
		return p.requeue(delay), nil
	}
	p.memory.panics = 0
	if d.err != nil {
		return ctrl.Result{}, d.err
	}
	return p.requeue(d.requeue), nil
}

// noteReady keeps what holds while the component is ready, and measures how long a change took.
func (p *pass) noteReady(kind outcomes.Kind, failure error, now time.Time) {
	changed := p.memory.changedAt
	if kind == outcomes.Ready {
		p.memory.posted = p.posted
	}
	if generation.Is(failure) {
		// The component shows an error.
		return
	}
	// All dependents are ready while deletions are held.
	if (kind == outcomes.Ready || kind == outcomes.Held) && !changed.IsZero() {
		p.worker.metrics.BecameReady(now.Sub(changed))
	}
	// Work that a user has interrupted says nothing about the duration.
	if slices.Contains([]outcomes.Kind{outcomes.Ready, outcomes.Held, outcomes.Suspended, outcomes.Paused, outcomes.Archived}, kind) {
		p.memory.changedAt = time.Time{}
	}
}

// noteRefusal counts consecutive refusals, and each new one in the metrics.
func (p *pass) noteRefusal(o outcomes.Outcome) {
	if o.Kind != outcomes.Refused {
		p.memory.refusals = 0
		if o.Kind != outcomes.Retriable {
			p.memory.refused = ""
		}
		return
	}
	p.memory.refusals++
	problems := o.Message
	if o.Refusal != nil {
		// The message has also how far on-failure hooks are.
		problems = o.Refusal.Error()
	}
	if p.memory.refused != problems {
		p.worker.metrics.Refused(refusalOf(o.Refusal))
		p.memory.refused = problems
	}
}

// panicDelay returns the delay before the next pass after a panic.
func (p *pass) panicDelay() time.Duration {
	return outcomes.Backoff(p.memory.panics, min(p.settings.timing.requeue, outcomes.LongestBackoff))
}

// noteError counts consecutive errors, as the queue does.
func (p *pass) noteError(o outcomes.Outcome) {
	if o.Kind == outcomes.Error && !generation.Is(o.Err) {
		p.memory.errors++
	} else {
		p.memory.errors = 0
	}
}

// requeue schedules the next pass after a delay; zero means none. A short delay continues work in progress. Passes without a conclusion keep their
// priority.
func (p *pass) requeue(delay time.Duration) ctrl.Result {
	priority := queue.PriorityPeriodic
	if delay < p.settings.timing.requeue {
		priority = queue.PriorityWoken
	}
	return ctrl.Result{RequeueAfter: jittered(delay), Priority: &priority}
}

func (p *pass) history() history {
	h := history{deleting: p.deleting, refusals: p.memory.refusals, errors: p.memory.errors}
	if p.status.ProcessingSince != nil {
		h.since = p.status.ProcessingSince.Time
	}
	return h
}

// note writes a decision into the status in memory.
func (p *pass) note(d decision, now metav1.Time) {
	switch {
	case d.since.IsZero():
		p.status.ProcessingSince = nil
	case p.status.ProcessingSince == nil || !p.status.ProcessingSince.Time.Equal(d.since):
		p.status.ProcessingSince = &metav1.Time{Time: d.since}
	}
	p.status.LastObservedAt = &now
	p.status.setState(d.verdict, now)
}

// noteHealth writes the condition that the generator names into the status in memory. It returns the delay until the next pass, which may be due earlier because of it.
func (p *pass) noteHealth(o outcomes.Outcome, d decision, now metav1.Time) time.Duration {
	name := p.worker.healthCondition()
	if name == "" {
		return d.requeue
	}
	facts := outcomes.HealthFacts{Outcome: o.Kind, Message: o.Message, Inventory: p.status.Inventory, Since: d.since, Now: now.Time}
	if p.result != nil {
		facts.Waits, facts.Failures = p.result.Waits, p.result.Failures
	}
	condition, known := outcomes.HealthOf(facts)
	if !known {
		return d.requeue
	}
	p.status.setHealth(name, condition, now)
	if condition.Wake == 0 {
		return d.requeue
	}
	return min(cmp.Or(d.requeue, condition.Wake), max(condition.Wake, soonest))
}

// completeStatus runs the status hooks, and returns the decision with what they say about the next pass.
func (p *pass) completeStatus(o outcomes.Outcome, d decision, now metav1.Time) decision {
	conclusion := Conclusion{
		Inventory: p.status.Inventory, Result: p.result, Plan: p.plan, Err: o.Err, Refusal: o.Refusal,
		Archived: o.Kind == outcomes.Archived, Now: now.Rfc3339Copy(),
	}
	for i, hook := range p.worker.statusHooks {
		var again time.Duration
		err := p.worker.panics.Run(p.log, func() (err error) {
			again, err = hook(p.component, conclusion)
			return err
		})
		if err != nil && d.err == nil {
			d.err = fmt.Errorf("running status hook (%d): %w", i, err)
			if generation.Is(err) {
				d.verdict = verdict{state: StateError, reason: ReadyConditionReasonError, message: d.err.Error(), retried: true}
				p.status.setState(d.verdict, now)
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
