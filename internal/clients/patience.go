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
	// defaultWhole is the default of Patience.Whole. An API server gives up on a request after 60 seconds and says so.
	defaultWhole = 65 * time.Second
)

// Patience says how long a connection waits for its server. Watches, and logs that are followed, are bounded by Answer only.
type Patience struct {
	// Answer is the time within which the answer to a read must begin. Defaults to 30 seconds.
	Answer time.Duration
	// Whole is the time within which any answer must be complete. It is more than Answer because a write may wait for admission
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

// NoAnswerError says that a server did not answer a request in time. Whether the server has carried out the request is not known.
// It is no net.Error with a timeout, because clients repeat such requests by themselves.
type NoAnswerError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
	// After is how long the answer was waited for.
	After time.Duration
}

// Error says which server did not answer, and for how long.
func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("no answer from the cluster at %s for %s", e.Server, e.After)
}

// ClosedError says that a server closed the connection instead of answering. Clients do not repeat such requests.
type ClosedError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
}

// Error says which server closed the connection.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("the cluster at %s closed the connection without an answer", e.Server)
}

// TooLargeError says that a server sent more than a connection accepts.
type TooLargeError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
	// Limit is what was exceeded, in bytes: by one event of a watch, one object, or all answers that were being read at the same time.
	Limit int64
}

// Error says which server sent too much.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer of the cluster at %s is larger than %d MiB", e.Server, e.Limit>>20)
}

// ForeignAnswerError says that what answered is no Kubernetes API server. It says nothing of the content of the answer.
type ForeignAnswerError struct {
	// Server is the host of the server, with its port if it has one.
	Server string
	// Code is the HTTP status code; zero if the answer was not HTTP.
	Code int
}

// Error says what is known without looking at the content.
func (e *ForeignAnswerError) Error() string {
	if e.Code == 0 {
		return "the answer of " + e.Server + " is not from a Kubernetes API server"
	}
	return fmt.Sprintf("the answer of %s (status code %d) is not from a Kubernetes API server", e.Server, e.Code)
}

// Watchdog is told when a request to a remote cluster takes long. Requests that are sent without a context of the caller, which those
// for the mapping of types are, do not count; instead, clients do not repeat them, whatever the server wants.
type Watchdog struct {
	// After is how long a request may take.
	After time.Duration
	// Slow is called when a request takes longer; it may be called by several goroutines, and must not block.
	Slow func()
}

type watchdogKey struct{}

// WithWatchdog returns a context whose requests are watched.
func WithWatchdog(ctx context.Context, watchdog *Watchdog) context.Context {
	return context.WithValue(ctx, watchdogKey{}, watchdog)
}
