// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/component-operator/runtime/internal/concurrent"
)

// serve answers a number of requests, whose latency depends on how many are under way.
func serve(limiter *concurrent.Limiter, requests int, latency func(level int) time.Duration) {
	for range requests {
		limiter.Answered(time.Now(), latency(limiter.Level()))
	}
}

func TestLevel(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		reason  string
		maximum int
		latency func(level int) time.Duration
		low     int
		high    int
	}{
		{"a server that never gets slower gets all that is allowed", 64, func(int) time.Duration { return 5 * ms }, 64, 64},
		{"also if each request takes long, for it is not the number that makes it so", 32, func(int) time.Duration { return time.Second }, 32, 32},
		{"a server that serves 4 at a time is kept busy, and not much more", 64, func(level int) time.Duration { return max(2*ms, time.Duration(level)*ms/2) }, 4, 28},
		{"a server that breaks down above 20 is not driven there for long", 64, func(level int) time.Duration {
			if level > 20 {
				return 200 * ms
			}
			return 5 * ms
		}, 4, 24},
		{"one at a time is the least", 1, func(level int) time.Duration { return time.Duration(level) * ms }, 1, 1},
	}
	for _, test := range tests {
		limiter := concurrent.NewLimiter(test.maximum)
		serve(limiter, 2000, test.latency)
		if level := limiter.Level(); level < test.low || level > test.high {
			t.Errorf("%s: expected a level from %d to %d, got %d", test.reason, test.low, test.high, level)
		}
	}
}

func TestRejections(t *testing.T) {
	t.Parallel()
	limiter := concurrent.NewLimiter(32)
	serve(limiter, 1000, func(int) time.Duration { return time.Millisecond })
	together := time.Now()
	for range 10 {
		limiter.Rejected(together, 0)
	}
	if level := limiter.Level(); level != 16 {
		t.Errorf("expected requests that were rejected together to halve the level once, got %d", level)
	}
	for range 10 {
		limiter.Rejected(time.Now(), 0)
	}
	if level := limiter.Level(); level != 1 {
		t.Errorf("expected rejections in a row to lead to one request at a time, got %d", level)
	}
	serve(limiter, 1000, func(int) time.Duration { return time.Millisecond })
	if level := limiter.Level(); level != 32 {
		t.Errorf("expected the level to recover, got %d", level)
	}
}

func TestRequestsWaitForRetryAfter(t *testing.T) {
	t.Parallel()
	limiter := concurrent.NewLimiter(4)
	limiter.Rejected(time.Now(), time.Hour)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the reason")
	done := make(chan error)
	go func() { done <- limiter.Acquire(ctx) }()
	cancel(reason)
	if err := <-done; !errors.Is(err, reason) {
		t.Errorf("expected the wait to end with the context, got %v", err)
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	limiter := concurrent.NewLimiter(2)
	for range 2 {
		if err := limiter.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if limiter.Acquire(expired) == nil {
		t.Error("expected a third task to wait")
	}
	admitted := make(chan error, 3)
	for range 3 {
		go func() { admitted <- limiter.Acquire(t.Context()) }()
	}
	for range 3 {
		limiter.Release()
		if err := <-admitted; err != nil {
			t.Error(err)
		}
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		if r.URL.Path == "/busy" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	limiter := concurrent.NewLimiter(8)
	client := &http.Client{Transport: concurrent.Transport(http.DefaultTransport)}
	for _, path := range []string{"/fine", "/busy", "/busy"} {
		request, err := http.NewRequestWithContext(concurrent.WithLimiter(t.Context(), limiter), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if level := limiter.Level(); level != 2 {
		t.Errorf("expected two rejections to be noticed, got level %d", level)
	}
}
