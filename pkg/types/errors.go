// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types

import (
	"time"
)

// RetriableError wraps an error that is expected to go away. If the error of a hook, a reference or a generator has one
// in its chain, the component becomes Pending (DeletionPending while it is being deleted) instead of Error, and is
// reconciled again after a known delay.
type RetriableError struct {
	err        error
	retryAfter *time.Duration
}

// NewRetriableError wraps err. If retryAfter is nil, the retry interval of the component applies.
func NewRetriableError(err error, retryAfter *time.Duration) RetriableError {
	return RetriableError{err: err, retryAfter: retryAfter}
}

// Error returns the text of the wrapped error.
func (e RetriableError) Error() string {
	return e.err.Error()
}

// Unwrap returns the wrapped error.
func (e RetriableError) Unwrap() error {
	return e.err
}

// Cause returns the wrapped error.
//
// Deprecated: use Unwrap, or errors.Is and errors.As.
func (e RetriableError) Cause() error {
	return e.err
}

// RetryAfter returns how long to wait before retrying, or nil for the retry interval of the component.
func (e RetriableError) RetryAfter() *time.Duration {
	return e.retryAfter
}
