// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package outcomes

import (
	"errors"
	"time"

	"github.com/component-operator/runtime/internal/redact"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Kind says how a phase, and finally a pass, ended.
type Kind int

const (
	// Continue lets the next phase run. A pass never ends with it.
	Continue Kind = iota
	// Ready means that everything is as declared.
	Ready
	// Progressing means that dependents are awaited.
	Progressing
	// Failed means that dependents have failed.
	Failed
	// Suspended means that nothing was done because the component is suspended.
	Suspended
	// Retriable means that something is expected to succeed later.
	Retriable
	// Refused means that the input cannot be accepted.
	Refused
	// Error is any other failure.
	Error
	// Blocked means that something foreign forbids the deletion.
	Blocked
	// Deleting means that dependents are awaited to be gone.
	Deleting
	// Gone means that nothing is left to be done for the component, and nothing to be recorded.
	Gone
	// Abandoned means that somebody else has written the status meanwhile, or may do so: nothing may be recorded.
	Abandoned
)

// Outcome is the result of a phase.
type Outcome struct {
	Kind    Kind
	Message string
	// Err is what is handed to the controller, for Error.
	Err error
	// RetryAfter overrides the retry interval, for Retriable.
	RetryAfter *time.Duration
	// Crowded is set if the pass has ended for want of a worker that may wait.
	Crowded bool
	// Wake is the time after which to look again even without an event; zero if there is no need.
	Wake time.Duration
}

// Proceed lets the next phase run.
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
		return Outcome{Kind: Refused, Message: err.Error()}
	default:
		// It is logged by the controller, too.
		err = redact.Error(err)
		return Outcome{Kind: Error, Message: err.Error(), Err: err}
	}
}

// Retry says that something is expected to succeed later, and is tried again after a delay even if nothing is heard of it.
func Retry(message string, delay time.Duration) Outcome {
	return Outcome{Kind: Retriable, Message: message, RetryAfter: &delay}
}

const (
	// MissingDelay is the time after which something is looked for again that a user has to provide.
	MissingDelay = 10 * time.Second
	// FirstBackoff is the delay after something that is not expected to go away by itself.
	FirstBackoff = 5 * time.Second
)

// Backoff returns FirstBackoff, doubled with each attempt up to a limit.
func Backoff(attempts int, limit time.Duration) time.Duration {
	return min(FirstBackoff<<min(attempts, 20), limit)
}
