// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"testing"
	"time"
)

// stopwatch is a clock that a test moves.
type stopwatch struct{ time.Time }

func (s *stopwatch) now() time.Time { return s.Time }

func TestTenureIsValidForAWhile(t *testing.T) {
	t.Parallel()
	clock := &stopwatch{time.Now()}
	tenure := newTenure(3, 10*time.Second, clock.now)
	if tenure.Check() == nil {
		t.Error("a lease that was never acquired must not count")
	}
	tenure.renew(clock.Time)
	clock.Time = clock.Add(10*time.Second - 1)
	if err := tenure.Check(); err != nil {
		t.Errorf("want it to be valid until the deadline, got %v", err)
	}
	clock.Time = clock.Add(1)
	if tenure.Check() == nil {
		t.Error("want it not to be relied upon after the deadline")
	}
	tenure.renew(clock.Time)
	if err := tenure.Check(); err != nil {
		t.Errorf("want a renewal to count, got %v", err)
	}
	tenure.finish()
	if err := tenure.Check(); !errors.Is(err, ErrOver) {
		t.Errorf("want it to be over, got %v", err)
	}
	if err := (*Tenure)(nil).Check(); err != nil {
		t.Errorf("want work that is not divided to be allowed, got %v", err)
	}
}

func TestElapsed(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, test := range []struct {
		reason   string
		from, to time.Time
		want     time.Duration
	}{
		{"both clocks agree", start, start.Add(time.Minute), time.Minute},
		{"while the machine was suspended, only the clock on the wall went on", start.Round(0), start.Add(time.Hour).Round(0), time.Hour},
	} {
		if got := elapsed(test.from, test.to); got != test.want {
			t.Errorf("%s: want %s, got %s", test.reason, test.want, got)
		}
	}
}

func TestTenureWaitsForWhatHasBegun(t *testing.T) {
	t.Parallel()
	tenure := newTenure(0, time.Hour, time.Now)
	for range 2 {
		if !tenure.enter() {
			t.Fatal("want work to begin")
		}
	}
	idle := tenure.close()
	if tenure.enter() {
		t.Error("want nothing to begin any more")
	}
	tenure.Leave()
	select {
	case <-idle:
		t.Fatal("one is still at work")
	default:
	}
	tenure.Leave()
	<-idle
	<-tenure.close()
}

func TestContextsEndWithTheTenure(t *testing.T) {
	t.Parallel()
	tenure := newTenure(0, time.Hour, time.Now)
	ctx, cancel := tenure.Context(t.Context())
	defer cancel()
	tenure.finish()
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), ErrOver) {
		t.Errorf("want the cause to be told, got %v", context.Cause(ctx))
	}
}
