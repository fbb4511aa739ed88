// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
)

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
	// refusals is the number of consecutive passes with refused input, and errors that of passes that ended with an error.
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

// decide is the state machine. The timeout starts with the first pass that does not end ready after a new digest or after a time of readiness. Only
// readiness, a new digest, suspension or deletion stop it. Held deletions count as readiness: all dependents are ready. After the timeout, the component is reconciled as before.
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

// soonest is the minimum delay between two passes without an event. Whatever goes wrong, a component costs at most one pass per second.
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

// longestErrorDelay is the maximum delay before a pass is repeated because of an error: what was repaired must not wait for long.
const longestErrorDelay = time.Minute

// errorDelays delays retries after errors: one second, doubled up to longestErrorDelay, and some percent less, so that components that fail together spread out.
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
