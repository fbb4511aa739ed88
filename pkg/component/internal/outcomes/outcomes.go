// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package outcomes

import (
	"errors"
	"time"

	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Kind classifies the outcome of a step, and finally of a pass.
type Kind int

const (
	// Continue lets the next step run. It is never the outcome of a pass.
	Continue Kind = iota
	// Ready means that all dependents are ready.
	Ready
	// Progressing means that dependents are not ready yet.
	Progressing
	// Held means that all dependents are ready, and that redundant ones stay until a user approves their deletion.
	Held
	// Failed means that dependents have failed.
	Failed
	// Suspended means that the component is suspended.
	Suspended
	// Paused means that the component is paused: nothing was written.
	Paused
	// Archived means that the dependents are gone, and the component stays.
	Archived
	// Retriable means that a later attempt is expected to succeed.
	Retriable
	// Refused means that the input is not valid.
	Refused
	// Error is any other failure.
	Error
	// Blocked means that the deletion does not begin: foreign objects or finalizers of other controllers block it, or a
	// user has to approve it.
	Blocked
	// Deleting means that dependents are being deleted.
	Deleting
	// Gone means that the component is gone, or is not ours: nothing must be recorded.
	Gone
	// Abandoned means that another client has written the status meanwhile, or may have: nothing must be recorded.
	Abandoned
)

// Outcome is the result of a step.
type Outcome struct {
	Kind    Kind
	Message string
	// Err is returned to the controller, for Error.
	Err error
	// Refusal says why the component or a dependent is refused, for Refused.
	Refusal *reconciler.RefusedError
	// RetryAfter overrides the retry interval, for Retriable.
	RetryAfter *time.Duration
	// Crowded is set if the pass has ended because too many workers wait for slow clusters.
	Crowded bool
	// Wake is the time after which to look again without an event; zero if events suffice.
	Wake time.Duration
}

// Proceed lets the next step run.
var Proceed = Outcome{}

// Of classifies an error; nil means to proceed.
func Of(err error) Outcome {
	var retriable types.RetriableError
	var refused *reconciler.RefusedError
	switch {
	case err == nil:
		return Proceed
	case errors.Is(err, resource.ErrChanged), errors.Is(err, resource.ErrNotOurs):
		return Outcome{Kind: Abandoned, Message: err.Error()}
	case errors.As(err, &retriable):
		return Outcome{Kind: Retriable, Message: err.Error(), RetryAfter: retriable.RetryAfter()}
	case errors.As(err, &refused):
		return Outcome{Kind: Refused, Message: err.Error(), Refusal: refused}
	default:
		// The controller logs it, too.
		err = texts.Error(err)
		return Outcome{Kind: Error, Message: err.Error(), Err: err}
	}
}

// Retry returns the outcome of a step that is expected to succeed later, and is retried after the delay, or after an
// event.
func Retry(message string, delay time.Duration) Outcome {
	return Outcome{Kind: Retriable, Message: message, RetryAfter: &delay}
}

const (
	// MissingDelay is the delay before looking again for an object that a user has to create.
	MissingDelay = 10 * time.Second
	// FirstBackoff is the first delay after a failure that needs a change by a user.
	FirstBackoff = 5 * time.Second
	// LongestBackoff is the maximum delay after such a failure: what was repaired must not wait for long.
	LongestBackoff = time.Minute
)

// Backoff returns FirstBackoff, doubled with each attempt up to a limit.
func Backoff(attempts int, limit time.Duration) time.Duration {
	return min(FirstBackoff<<min(attempts, 20), limit)
}
