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
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// liftBarriers removes barriers if the pass did not reach the dependents, so that instances of types whose deletion has
// begun can be created again until it continues.
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

// requeue schedules the next pass after a delay; zero means none. A short delay continues work in progress. Passes
// without a conclusion keep their priority.
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

// noteHealth writes the condition that the generator names into the status in memory. It returns the delay until the
// next pass, which may be due earlier because of it.
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

// timing holds the intervals that apply to a component; all are positive.
type timing struct {
	requeue, retry, timeout time.Duration
}

// history is what decisions need from earlier passes.
type history struct {
	// deleting reports whether the component is being deleted.
	deleting bool
	// since is when the component stopped being ready, or when its present digest was first seen; zero if it is ready.
	since time.Time
	// refusals is the number of consecutive passes with refused input, and errors that of passes that ended with an
	// error.
	refusals, errors int
}

// decision is the consequence of an outcome.
type decision struct {
	verdict
	// since is the next history.since.
	since time.Time
	// requeue is the delay until the next pass; zero if only an event starts one.
	requeue time.Duration
	// err is returned to the controller, which retries with increasing delays.
	err error
}

// decide is the state machine. The timeout starts with the first pass that does not end ready after a new digest or
// after a time of readiness. Only readiness, a new digest, suspension or deletion stop it. Held deletions count as
// readiness: all dependents are ready. After the timeout, the component is reconciled as before.
func decide(o outcomes.Outcome, h history, t timing, now time.Time) decision {
	d := decision{verdict: verdictOf(o.Kind, h.deleting), since: h.since}
	d.message = o.Message
	if h.deleting || slices.Contains([]outcomes.Kind{outcomes.Ready, outcomes.Held, outcomes.Suspended, outcomes.Paused, outcomes.Archived}, o.Kind) {
		d.since = time.Time{}
	} else if d.since.IsZero() {
		d.since = now
	}
	d.requeue = requeueOf(o, h, t)
	if o.Kind == outcomes.Error {
		d.err, d.next = o.Err, min(soonest<<min(h.errors, 20), longestErrorDelay)
	}
	if o.Kind == outcomes.Refused {
		d.next = d.requeue
	}
	if d.since.IsZero() {
		return d
	}
	remaining := d.since.Add(t.timeout).Sub(now)
	if remaining > 0 {
		d.requeue = min(d.requeue, max(remaining, soonest))
		return d
	}
	d.reason = ReadyConditionReasonTimeout
	if d.state == StateProcessing || d.state == StatePending {
		d.state = StateError
	}
	d.message = "not ready within " + t.timeout.String() + ": " + o.Message
	return d
}

// verdictOf is the table of states and reasons, without the timeout.
func verdictOf(kind outcomes.Kind, deleting bool) verdict {
	switch kind {
	case outcomes.Ready:
		return verdict{state: StateReady, reason: ReadyConditionReasonReady}
	case outcomes.Progressing:
		return verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing}
	case outcomes.Held:
		return verdict{state: StatePending, reason: ReadyConditionReasonDeletionsHeld}
	case outcomes.Suspended:
		return verdict{state: StatePending, reason: ReadyConditionReasonSuspended}
	case outcomes.Paused:
		return verdict{state: StatePending, reason: ReadyConditionReasonPaused}
	case outcomes.Archived:
		return verdict{state: StatePending, reason: ReadyConditionReasonArchived}
	case outcomes.Retriable:
		if deleting {
			return verdict{state: StateDeletionPending, reason: ReadyConditionReasonDeletionRetrying}
		}
		return verdict{state: StatePending, reason: ReadyConditionReasonRetrying}
	case outcomes.Blocked:
		return verdict{state: StateDeleting, reason: ReadyConditionReasonDeletionBlocked}
	case outcomes.Deleting:
		return verdict{state: StateDeleting, reason: ReadyConditionReasonDeletionProcessing}
	case outcomes.Error:
		return verdict{state: StateError, reason: ReadyConditionReasonError, retried: true}
	case outcomes.Failed, outcomes.Refused, outcomes.Continue, outcomes.Gone, outcomes.Abandoned:
		return verdict{state: StateError, reason: ReadyConditionReasonError}
	default:
		return verdict{state: StateError, reason: ReadyConditionReasonError}
	}
}

// soonest is the minimum delay between two passes without an event. Whatever goes wrong, a component costs at most one
// pass per second.
const soonest = time.Second

// requeueOf returns the delay until the next pass; zero means none. Events do not wait for it.
func requeueOf(o outcomes.Outcome, h history, t timing) time.Duration {
	delay := dueAfter(o, h, t)
	if delay == 0 {
		return 0
	}
	return max(delay, soonest)
}

func dueAfter(o outcomes.Outcome, h history, t timing) time.Duration {
	switch o.Kind {
	case outcomes.Ready, outcomes.Progressing, outcomes.Held, outcomes.Failed, outcomes.Deleting, outcomes.Blocked, outcomes.Paused:
		if o.Wake > 0 {
			return min(o.Wake, t.requeue)
		}
		return t.requeue
	case outcomes.Retriable:
		if o.RetryAfter != nil {
			return max(*o.RetryAfter, time.Millisecond)
		}
		return t.retry
	case outcomes.Refused:
		delay := outcomes.Backoff(h.refusals, min(t.requeue, outcomes.LongestBackoff))
		if o.Wake > 0 {
			// On-failure hooks may be under way.
			delay = min(delay, o.Wake)
		}
		return delay
	case outcomes.Suspended:
		// Zero if the dependents are left alone.
		return min(o.Wake, t.requeue)
	case outcomes.Archived, outcomes.Error, outcomes.Continue, outcomes.Gone, outcomes.Abandoned:
		return 0
	default:
		return 0
	}
}

// longestErrorDelay is the maximum delay before a pass is repeated because of an error: what was repaired must not wait
// for long.
const longestErrorDelay = time.Minute

// errorDelays delays retries after errors: one second, doubled up to longestErrorDelay, and some percent less, so that
// components that fail together spread out.
func errorDelays() workqueue.TypedRateLimiter[reconcile.Request] {
	return spreading{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](soonest, longestErrorDelay)}
}

// spreading shortens the delays of a limiter by up to 10 percent.
type spreading struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

// When returns the delay before a retry.
func (s spreading) When(request reconcile.Request) time.Duration {
	delay := s.TypedRateLimiter.When(request)
	return max(delay-delay/100*time.Duration(rand.IntN(11)), soonest)
}

// setState sets the state, and the conditions that follow from it.
func (s *Status) setState(v verdict, now metav1.Time) {
	s.State = v.state
	message := outcomes.Bound(v.message)
	for _, name := range []ConditionType{ConditionTypeReady, ConditionTypeReconciling, ConditionTypeStalled} {
		condition := s.change(name, v.statusOf(name), now)
		condition.Reason = v.reason
		condition.Message = ""
		if name == ConditionTypeReady || condition.Status == ConditionTrue {
			condition.Message = message
		}
		// The message of Ready changes only if the situation does.
		if name != ConditionTypeReady && condition.Status == ConditionTrue && v.next > 0 {
			condition.Message += "; the next attempt is at " + now.Add(v.next).UTC().Format(time.RFC3339)
		}
	}
}
