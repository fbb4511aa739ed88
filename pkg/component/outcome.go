// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"slices"
	"time"

	"github.com/component-operator/runtime/internal/redact"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// outcomeKind says how a phase, and finally a pass, ended.
type outcomeKind int

const (
	// outcomeContinue lets the next phase run. A pass never ends with it.
	outcomeContinue outcomeKind = iota
	// outcomeReady means that everything is as declared.
	outcomeReady
	// outcomeProgressing means that dependents are awaited.
	outcomeProgressing
	// outcomeFailed means that dependents have failed.
	outcomeFailed
	// outcomeSuspended means that nothing was done because the component is suspended.
	outcomeSuspended
	// outcomeRetriable means that something is expected to succeed later.
	outcomeRetriable
	// outcomeRefused means that the input cannot be accepted.
	outcomeRefused
	// outcomeError is any other failure.
	outcomeError
	// outcomeBlocked means that something foreign forbids the deletion.
	outcomeBlocked
	// outcomeDeleting means that dependents are awaited to be gone.
	outcomeDeleting
	// outcomeGone means that nothing is left to be done for the component, and nothing to be recorded.
	outcomeGone
	// outcomeAbandoned means that somebody else has written the status meanwhile, or may do so: nothing may be recorded.
	outcomeAbandoned
)

// outcome is the result of a phase.
type outcome struct {
	kind    outcomeKind
	message string
	// err is what is handed to the controller, for outcomeError.
	err error
	// retryAfter overrides the retry interval, for outcomeRetriable.
	retryAfter *time.Duration
	// crowded is set if the pass has ended for want of a worker that may wait.
	crowded bool
	// wake is the time after which to look again even without an event; zero if there is no need.
	wake time.Duration
}

var proceed = outcome{}

// errAbandoned ends a pass whose picture of the component is outdated.
var errAbandoned = errors.New("the component was changed by somebody else during the reconciliation")

// outcomeOf classifies an error.
func outcomeOf(err error) outcome {
	var retriable types.RetriableError
	var refused *reconciler.RefusedError
	switch {
	case err == nil:
		return proceed
	case errors.Is(err, errAbandoned), errors.Is(err, errNotOurs):
		return outcome{kind: outcomeAbandoned, message: err.Error()}
	case errors.As(err, &retriable):
		return outcome{kind: outcomeRetriable, message: err.Error(), retryAfter: retriable.RetryAfter()}
	case errors.As(err, &refused):
		return outcome{kind: outcomeRefused, message: err.Error()}
	default:
		// It is logged by the controller, too.
		err = redact.Error(err)
		return outcome{kind: outcomeError, message: err.Error(), err: err}
	}
}

// timing holds the intervals that apply to a component; all are positive.
type timing struct {
	requeue, retry, timeout time.Duration
}

// history is what decisions need to know about earlier passes.
type history struct {
	// deleting reports whether the component is being deleted.
	deleting bool
	// since is when the component stopped being ready, or when the present digest was seen first; zero if it is ready.
	since time.Time
	// refusals counts the passes in a row whose input was refused.
	refusals int
}

// decision is what follows from an outcome.
type decision struct {
	verdict
	// since is the new history.since.
	since time.Time
	// requeue is the time after which the component is looked at again; zero if only an event does that.
	requeue time.Duration
	// err is handed to the controller, which repeats the pass with increasing delays of its own.
	err error
}

// decide is the state machine. The clock of the timeout runs from the first pass with a new digest, or after a time of
// readiness, that does not end ready, whatever else happens; only readiness, a new digest, a suspension or the
// deletion stops it. A component that has timed out is worked on as before.
func decide(o outcome, h history, t timing, now time.Time) decision {
	d := decision{verdict: verdictOf(o.kind, h.deleting), since: h.since}
	d.message = o.message
	if h.deleting || slices.Contains([]outcomeKind{outcomeReady, outcomeSuspended}, o.kind) {
		d.since = time.Time{}
	} else if d.since.IsZero() {
		d.since = now
	}
	d.requeue = requeueOf(o, h, t)
	if o.kind == outcomeError {
		d.err = o.err
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
	if d.state == StateProcessing {
		d.state = StateError
	}
	d.message = "not ready within " + t.timeout.String() + ": " + o.message
	return d
}

// verdictOf is the table of states and reasons, apart from the timeout.
func verdictOf(kind outcomeKind, deleting bool) verdict {
	switch kind {
	case outcomeReady:
		return verdict{state: StateReady, reason: ReadyConditionReasonReady}
	case outcomeProgressing:
		return verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing}
	case outcomeSuspended:
		return verdict{state: StatePending, reason: ReadyConditionReasonSuspended}
	case outcomeRetriable:
		if deleting {
			return verdict{state: StateDeletionPending, reason: ReadyConditionReasonDeletionRetrying}
		}
		return verdict{state: StatePending, reason: ReadyConditionReasonRetrying}
	case outcomeBlocked:
		return verdict{state: StateDeleting, reason: ReadyConditionReasonDeletionBlocked}
	case outcomeDeleting:
		return verdict{state: StateDeleting, reason: ReadyConditionReasonDeletionProcessing}
	case outcomeError:
		return verdict{state: StateError, reason: ReadyConditionReasonError, retried: true}
	case outcomeFailed, outcomeRefused, outcomeContinue, outcomeGone, outcomeAbandoned:
		return verdict{state: StateError, reason: ReadyConditionReasonError}
	default:
		return verdict{state: StateError, reason: ReadyConditionReasonError}
	}
}

// soonest is the shortest time after which a pass is repeated without an event. Whatever goes wrong, a component costs no more than a
// pass a second.
const soonest = time.Second

// requeueOf returns when to look again, zero meaning never; events do not wait for it.
func requeueOf(o outcome, h history, t timing) time.Duration {
	delay := dueAfter(o, h, t)
	if delay == 0 {
		return 0
	}
	return max(delay, soonest)
}

func dueAfter(o outcome, h history, t timing) time.Duration {
	switch o.kind {
	case outcomeReady, outcomeProgressing, outcomeFailed, outcomeDeleting, outcomeBlocked:
		if o.wake > 0 {
			return min(o.wake, t.requeue)
		}
		return t.requeue
	case outcomeRetriable:
		if o.retryAfter != nil {
			return max(*o.retryAfter, time.Millisecond)
		}
		return t.retry
	case outcomeRefused:
		return backoff(h.refusals, t.requeue)
	case outcomeSuspended, outcomeError, outcomeContinue, outcomeGone, outcomeAbandoned:
		return 0
	default:
		return 0
	}
}

// firstBackoff is the delay after something that is not expected to go away by itself.
const firstBackoff = 5 * time.Second

func backoff(attempts int, limit time.Duration) time.Duration {
	return min(firstBackoff<<min(attempts, 20), limit)
}
