// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

const (
	// defaultAnswer is the default of Patience.Answer.
	defaultAnswer = 30 * time.Second
	// defaultWhole is the default of Patience.Whole. An API server ends a request after 60 seconds with an error.
	defaultWhole = 65 * time.Second
	// forever is for clients without limits.
	forever = time.Duration(math.MaxInt64)
)

// Patience limits how long a connection waits for its server. Watches and followed logs are limited by Answer only.
type Patience struct {
	// Answer is the time within which the response to a read must begin. Defaults to 30 seconds.
	Answer time.Duration
	// Whole is the time within which any response must be complete. It is more than Answer because a write may wait for
	// admission webhooks. Defaults to 65 seconds.
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

// Longest is the duration of the longest request to a remote cluster. It is safe for concurrent use.
type Longest struct{ nanoseconds atomic.Int64 }

// Duration returns the duration; zero if no request has ended.
func (l *Longest) Duration() time.Duration { return time.Duration(l.nanoseconds.Load()) }

func (l *Longest) note(duration time.Duration) {
	for {
		longest := l.nanoseconds.Load()
		if int64(duration) <= longest || l.nanoseconds.CompareAndSwap(longest, int64(duration)) {
			return
		}
	}
}

type longestKey struct{}

// WithLongest returns a context whose requests note how long the longest of them took until its response began.
func WithLongest(ctx context.Context) (context.Context, *Longest) {
	longest := &Longest{}
	return context.WithValue(ctx, longestKey{}, longest), longest
}

// NoAnswerError says that a server did not respond in time. It may have carried out the request. The error is no
// net.Error with a timeout, because clients repeat such requests by themselves.
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
