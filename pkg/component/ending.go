// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
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

// settled are the outcomes that leave nothing under way.
var settled = []outcomes.Kind{outcomes.Ready, outcomes.Held, outcomes.Suspended, outcomes.Paused, outcomes.Archived}

// conclude writes the status, reports the outcome, and returns when the next pass is due.
func (p *pass) conclude(ctx context.Context, o outcomes.Outcome) (ctrl.Result, error) {
	p.memory.posted = hookRun{}
	if o.Kind == outcomes.Gone || o.Kind == outcomes.Abandoned {
		return p.leave(o), nil
	}
	now := p.now()
	d := decide(o, history{
		deleting: p.deleting, since: ptr.Deref(p.status.ProcessingSince, metav1.Time{}).Time, refusals: p.memory.refusals, errors: p.memory.errors,
	}, p.settings.timing, now.Time)
	if o.Kind == outcomes.Waiting {
		d.verdict = p.before
	} else {
		d.requeue = p.noteHealth(o, d, now)
	}
	if until := p.seed.Until(now.Time); until > 0 && d.requeue > 0 {
		d.requeue = min(d.requeue, until)
	}
	p.countFailures(o)
	if generation.Is(o.Err) {
		d.next = p.panicDelay()
	}
	if o.Kind != outcomes.Waiting {
		p.note(d, now)
	}
	p.noteRollout(o, now)
	d = p.completeStatus(o, d, now)
	err := p.record.SaveStatus(ctx)
	switch {
	case errors.Is(err, resource.ErrRejected):
		p.log.Error(err, "the status of the component cannot be written")
		p.warn("StatusRejected", err.Error())
		return p.requeue(outcomes.Backoff(p.memory.resource.Rejected(), p.settings.timing.requeue)), nil
	case outcomes.Of(err).Kind == outcomes.Abandoned:
		return p.leave(outcomes.Of(err)), nil
	case err != nil:
		return ctrl.Result{}, err
	}
	p.noteReady(o.Kind, d.err, now.Time)
	p.emit()
	p.announceVerdict(d.verdict, o.Kind)
	p.measure(d.reason)
	if generation.Is(d.err) {
		// The panic is logged already. The controller would log each attempt, with another stack.
		delay := p.panicDelay()
		if o.Kind != outcomes.Error && d.requeue > 0 {
			// A status hook has panicked. That must not delay the work of the component.
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

// leave ends a pass that records nothing: the component is gone or is not ours, or another client has written the status.
func (p *pass) leave(o outcomes.Outcome) ctrl.Result {
	// Events about dependents go through the connection that may end here.
	p.emit()
	if o.Kind == outcomes.Gone {
		p.worker.leave(p.key)
		return ctrl.Result{}
	}
	p.log.Info("reconciliation ended early", "reason", o.Message)
	return ctrl.Result{RequeueAfter: abandonedDelay}
}

// noteReady remembers the run of the post-reconcile hooks while the component is ready, and measures the duration of a
// change.
func (p *pass) noteReady(kind outcomes.Kind, failure error, now time.Time) {
	changed := p.memory.changedAt
	if kind == outcomes.Ready {
		p.memory.posted = p.posted
	}
	if generation.Is(failure) || !slices.Contains(settled, kind) {
		return
	}
	// All dependents are ready while deletions are held. The duration of work that a user has interrupted does not
	// count.
	if (kind == outcomes.Ready || kind == outcomes.Held) && !changed.IsZero() {
		p.worker.metrics.BecameReady(now.Sub(changed))
	}
	p.memory.changedAt = time.Time{}
}

// countFailures counts consecutive refusals, each new one also in the metrics, and consecutive errors, as the queue
// does.
func (p *pass) countFailures(o outcomes.Outcome) {
	m := p.memory
	if o.Kind == outcomes.Error && !generation.Is(o.Err) {
		m.errors++
	} else {
		m.errors = 0
	}
	if o.Kind != outcomes.Refused {
		m.refusals = 0
		if o.Kind != outcomes.Retriable {
			m.refused = ""
		}
		return
	}
	m.refusals++
	problems := o.Message
	if o.Refusal != nil {
		// The message also has the progress of on-failure hooks.
		problems = o.Refusal.Error()
	}
	if m.refused != problems {
		p.worker.metrics.Refused(refusalOf(o.Refusal))
		m.refused = problems
	}
}

// panicDelay returns the delay before the next pass after a panic.
func (p *pass) panicDelay() time.Duration {
	return outcomes.Backoff(p.memory.panics, min(p.settings.timing.requeue, outcomes.LongestBackoff))
}

// requeue schedules the next pass after a delay; zero means none. A short delay continues work in progress. Passes
// without a conclusion keep their priority. The delay is 1 to 5 percent longer, so that components that were created
// together spread out.
func (p *pass) requeue(delay time.Duration) ctrl.Result {
	priority := queue.PriorityPeriodic
	if delay < p.settings.timing.requeue {
		priority = queue.PriorityWoken
	}
	return ctrl.Result{RequeueAfter: delay + delay/100*time.Duration(1+rand.IntN(5)), Priority: &priority}
}

// note writes a decision into the status in memory.
func (p *pass) note(d decision, now metav1.Time) {
	p.status.ProcessingSince = nil
	if !d.since.IsZero() {
		p.status.ProcessingSince = &metav1.Time{Time: d.since}
	}
	p.status.LastObservedAt = &now
	p.status.setState(d.verdict, now)
}

// noteHealth writes the condition that the generator names into the status in memory. It returns the delay until the
// next pass, which the condition may shorten.
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
	healthy := ConditionFalse
	if condition.Healthy {
		healthy = ConditionTrue
	}
	p.status.SetCondition(name, healthy, condition.Reason, condition.Message, now)
	if condition.Wake == 0 {
		return d.requeue
	}
	return min(cmp.Or(d.requeue, condition.Wake), max(condition.Wake, soonest))
}

// completeStatus runs the status hooks, and returns the decision with their delays and errors.
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
			d.err = fmt.Errorf("status hook %d of the operator: %w", i+1, err)
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

// timing holds the intervals that apply to a component; all are positive.
type timing struct {
	requeue, retry, timeout time.Duration
}

// history is the input of decisions from earlier passes.
type history struct {
	// deleting reports whether the component is being deleted.
	deleting bool
	// since is when the component stopped being ready, or when its present digest was first seen; zero if it is ready.
	since time.Time
	// refusals is the number of consecutive passes with refused input, errors the number of those that ended with an
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
// after a period of readiness. Only readiness, a new digest, suspension or deletion stop it. Held deletions count as
// readiness: all dependents are ready. After the timeout, the component is reconciled as before.
func decide(o outcomes.Outcome, h history, t timing, now time.Time) decision {
	if o.Kind == outcomes.Waiting {
		return decision{requeue: max(cmp.Or(min(o.Wake, t.requeue), t.requeue), soonest)}
	}
	d := decision{verdict: verdictOf(o.Kind, h.deleting), since: h.since}
	d.message = o.Message
	if h.deleting || slices.Contains(settled, o.Kind) {
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

// verdicts is the table of states and reasons, without the timeout. All other outcomes are errors.
var verdicts = map[outcomes.Kind]verdict{
	outcomes.Ready:       {state: StateReady, reason: ReadyConditionReasonReady},
	outcomes.Progressing: {state: StateProcessing, reason: ReadyConditionReasonProcessing},
	outcomes.Held:        {state: StatePending, reason: ReadyConditionReasonDeletionsHeld},
	outcomes.Suspended:   {state: StatePending, reason: ReadyConditionReasonSuspended},
	outcomes.Paused:      {state: StatePending, reason: ReadyConditionReasonPaused},
	outcomes.Archived:    {state: StatePending, reason: ReadyConditionReasonArchived},
	outcomes.Retriable:   {state: StatePending, reason: ReadyConditionReasonRetrying},
	outcomes.Blocked:     {state: StateDeleting, reason: ReadyConditionReasonDeletionBlocked},
	outcomes.Deleting:    {state: StateDeleting, reason: ReadyConditionReasonDeletionProcessing},
	outcomes.Error:       {state: StateError, reason: ReadyConditionReasonError, retried: true},
}

func verdictOf(kind outcomes.Kind, deleting bool) verdict {
	if kind == outcomes.Retriable && deleting {
		return verdict{state: StateDeletionPending, reason: ReadyConditionReasonDeletionRetrying}
	}
	if found, ok := verdicts[kind]; ok {
		return found
	}
	return verdict{state: StateError, reason: ReadyConditionReasonError}
}

// soonest is the minimum delay between two passes without an event. Whatever goes wrong, a component costs at most one
// pass per second.
const soonest = time.Second

// unrepeated are the outcomes after which only an event, or the controller, starts a pass.
var unrepeated = []outcomes.Kind{outcomes.Archived, outcomes.Error, outcomes.Continue, outcomes.Gone, outcomes.Abandoned}

// requeueOf returns the delay until the next pass; zero means none. Events do not wait for it.
func requeueOf(o outcomes.Outcome, h history, t timing) time.Duration {
	delay := t.requeue
	switch {
	case o.Kind == outcomes.Retriable && o.RetryAfter != nil:
		delay = max(*o.RetryAfter, time.Millisecond)
	case o.Kind == outcomes.Retriable:
		delay = t.retry
	case o.Kind == outcomes.Refused:
		delay = outcomes.Backoff(h.refusals, min(t.requeue, outcomes.LongestBackoff))
		if o.Wake > 0 {
			// On-failure hooks may be under way.
			delay = min(delay, o.Wake)
		}
	case slices.Contains(unrepeated, o.Kind):
		return 0
	case o.Wake > 0:
		delay = min(o.Wake, t.requeue)
	}
	return max(delay, soonest)
}

// longestErrorDelay is the maximum delay before a pass is repeated after an error: a repaired component must not wait
// long.
const longestErrorDelay = time.Minute

// errorDelays delays retries after errors: one second, doubled up to longestErrorDelay.
func errorDelays() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](soonest, longestErrorDelay)
}

// setState sets the state, and the conditions that follow from it.
func (s *Status) setState(v verdict, now metav1.Time) {
	s.State = v.state
	message := outcomes.Bound(v.message)
	ready, reconciling, stalled := v.statuses()
	s.change(ConditionTypeReady, ready, v.reason, message, now)
	// The message of Ready changes only if the situation does.
	if v.next > 0 {
		message += "; the next attempt is at " + now.Add(v.next).UTC().Format(time.RFC3339)
	}
	for _, c := range []Condition{{Type: ConditionTypeReconciling, Status: reconciling}, {Type: ConditionTypeStalled, Status: stalled}} {
		if c.Status == ConditionTrue {
			c.Message = message
		}
		s.change(c.Type, c.Status, v.reason, c.Message, now)
	}
}
