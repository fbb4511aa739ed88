// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"time"
)

const (
	// defaultAnswer is the default of Patience.Answer.
	defaultAnswer = 30 * time.Second
	// defaultWhole is the default of Patience.Whole. An API server ends a request after 60 seconds with an error.
	defaultWhole = 65 * time.Second
)

// Patience limits how long a connection waits for its server. Watches and followed logs are limited by Answer only.
type Patience struct {
	// Answer is the time within which the response to a read must begin. Defaults to 30 seconds.
	Answer time.Duration
	// Whole is the time within which any response must be complete. It is more than Answer because a write may wait for admission
	// webhooks. Defaults to 65 seconds.
	Whole time.Duration
}

func (p Patience) complete() Patience {
	if p.Answer <= 0 {
		p.Answer = defaultAnswer
	}
	if p.Whole <= 0 {
		p.Whole = max(defaultWhole, p.Answer)
	}
	return p
}

// NoAnswerError says that a server did not respond in time. It may have carried out the request. The error is no net.Error with a
// timeout, because clients repeat such requests by themselves.
type NoAnswerError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
	// After is how long the client has waited.
	After time.Duration
}

// Error says which server did not answer, and for how long.
func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("no answer from the cluster at %s for %s", e.Server, e.After)
}

// ClosedError says that a server closed the connection without a response. Clients do not repeat such requests.
type ClosedError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
}

// Error says which server closed the connection.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("the cluster at %s closed the connection without an answer", e.Server)
}

// TooLargeError says that a response is larger than the connection accepts.
type TooLargeError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
	// Limit is the exceeded limit in bytes: of one watch event, one object, or all responses that are read at the same time. Each value counts 32 bytes at least.
	Limit int64
}

// Error says which server sent too much.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer of the cluster at %s is larger than %d MiB, or has more than %d values", e.Server, e.Limit>>20, e.Limit/valueWeight)
}

// ForeignAnswerError says that the response is not from a Kubernetes API server. It does not quote the response.
type ForeignAnswerError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
	// Code is the HTTP status code; zero if the response was not HTTP.
	Code int
}

// Error says what is known without looking at the content.
func (e *ForeignAnswerError) Error() string {
	if e.Code == 0 {
		return "the answer of " + e.Server + " is not from a Kubernetes API server"
	}
	return fmt.Sprintf("the answer of %s (status code %d) is not from a Kubernetes API server", e.Server, e.Code)
}

// Watchdog is notified when a request to a remote cluster is slow. It does not see requests that are sent without the caller's
// context, such as those of the REST mapper; clients do not repeat these, even if the server asks for it.
type Watchdog struct {
	// After is how long a request may take.
	After time.Duration
	// Slow is called when a request takes longer. It must not block, and may be called from several goroutines.
	Slow func()
}

type watchdogKey struct{}

// WithWatchdog returns a context whose requests the Watchdog sees.
func WithWatchdog(ctx context.Context, watchdog *Watchdog) context.Context {
	return context.WithValue(ctx, watchdogKey{}, watchdog)
}
