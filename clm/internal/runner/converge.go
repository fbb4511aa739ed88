// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const (
	// FirstRetry and LastRetry are the first and the longest pause after an error.
	FirstRetry = 500 * time.Millisecond
	LastRetry  = 30 * time.Second
	// grace is how long requests that are under way may take after the context of an operation has ended.
	grace = 5 * time.Second
)

// A Convergence calls the engine until nothing is left to do.
type Convergence struct {
	// Target has the engine, and wakes the convergence when a dependent changes.
	Target *Target
	// Call makes one call of the engine.
	Call func(ctx context.Context) (reconciler.Result, error)
	// Took gets the result of each call, and the error, if there was one that will be retried.
	Took func(result reconciler.Result, err error)
	// Enough reports whether to stop although the result is not done. Defaults to no.
	Enough func(result reconciler.Result) bool
	// Timeout is named in the error if the context ends because of ErrTimeout.
	Timeout time.Duration
}

// Run calls the engine until it is done. It returns the last result in any case.
func (c *Convergence) Run(ctx context.Context) (result reconciler.Result, err error) {
	working, stop := lingering(ctx, grace)
	defer stop()
	delay := FirstRetry
	var failure error // of the last call that has come to its end
	for {
		result, err = c.Call(working)
		if ctx.Err() == nil {
			failure = err
		}
		switch {
		case err == nil && c.isEnough(result):
			return result, nil
		case ctx.Err() != nil:
			return result, c.ended(ctx, result, failure)
		case err != nil && failures.IsFinal(err) && !result.Aftermath.Goes():
			return result, err
		}
		if err == nil && !result.Aftermath.Goes() {
			if err := vain(result); err != nil {
				return result, err
			}
		}
		c.Took(result, err)
		pause := result.RequeueAfter
		if err != nil {
			pause, delay = delay, min(2*delay, LastRetry)
		} else {
			delay = FirstRetry
		}
		if !c.sleep(ctx, pause) {
			return result, c.ended(ctx, result, failure)
		}
	}
}

// isEnough reports whether there is nothing left to be done, or to be waited for. On-failure hooks that have begun come to their end.
func (c *Convergence) isEnough(result reconciler.Result) bool {
	return result.Done && !result.Aftermath.Goes() || c.Enough != nil && c.Enough(result)
}

// vain returns the error for a result that waiting alone does not change; nil if there is something to wait for.
func vain(result reconciler.Result) error {
	switch {
	case len(result.Waits) == 0:
		return Unapproved(result.Held)
	case allFailed(result):
		return &failures.NotReadyError{Failed: slices.Concat(result.Failures, result.Aftermath.Failures), Waits: result.Waits}
	default:
		return nil
	}
}

// Unapproved returns the RefusedError for deletions that nobody has approved; nil if there are none.
func Unapproved(held *reconciler.HeldDeletions) error {
	if held == nil {
		return nil
	}
	names := make([]string, len(held.Objects))
	for i, object := range held.Objects {
		names[i] = object.String()
	}
	return failures.Refused("%s: %s; to delete them, apply the sources again with --approve-deletions %s", held, strings.Join(names, ", "), held.Digest)
}

// sleep waits until a dependent has changed, at most for the pause, if it is positive. It reports whether the context has not ended.
func (c *Convergence) sleep(ctx context.Context, pause time.Duration) bool {
	c.Target.engine.Follow()
	var over <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-c.Target.woken:
	case <-over:
	case <-ctx.Done():
		return false
	}
	return true
}

// ended returns the error for a context that has ended.
func (c *Convergence) ended(ctx context.Context, result reconciler.Result, failure error) error {
	cause := context.Cause(ctx)
	late := &failures.NotReadyError{
		Failed: slices.Concat(result.Failures, result.Aftermath.Failures), Waits: slices.Concat(result.Waits, result.Aftermath.Waits), Cause: failure,
	}
	switch {
	case failure == nil && result.Done && (errors.Is(cause, ErrTimeout) || errors.Is(cause, context.Canceled)):
		// Only hooks of an earlier failure are still under way, which nothing waits for.
		return nil
	case errors.Is(cause, ErrTimeout) && failure == nil && allFailed(result):
		return late
	case errors.Is(cause, ErrTimeout):
		late.Timeout = c.Timeout
		return late
	case errors.Is(cause, context.Canceled):
		return &failures.InterruptedError{Waits: result.Waits}
	default:
		return cause
	}
}

// allFailed reports whether all objects that the operation waits for have failed.
func allFailed(result reconciler.Result) bool {
	failed := map[dependents.Key]bool{}
	for _, notice := range result.Failures {
		failed[dependents.KeyOf(notice.Object)] = true
	}
	for _, notice := range result.Waits {
		if !failed[dependents.KeyOf(notice.Object)] && !notice.Doomed {
			return false
		}
	}
	return len(result.Waits) > 0
}

// lingering returns a context that outlives the given one by a grace period.
func lingering(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	result, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-result.Done():
		}
	})
	return result, func() {
		stop()
		cancel()
	}
}

// ErrTimeout is the cause with which a context of Limited ends after its timeout.
var ErrTimeout = errors.New("the timeout has expired")

// Limited returns a context that ends after the timeout, unless that is zero.
func Limited(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, ErrTimeout)
}
