// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/component-operator/runtime/internal/testenv"
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
		t.Fatal("want nothing to begin any more")
	}
	tenure.Leave()
	select {
	case <-idle:
		t.Fatal("one is still at work")
	default:
	}
	tenure.Leave()
	testenv.Receive(t, idle, "everything has ended")
	testenv.Receive(t, tenure.close(), "the tenure was closed before")
}

// TestLeaseCountsFromTheRequest has renewals be answered late.
func TestLeaseCountsFromTheRequest(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, test := range []struct {
		reason string
		answer error
		want   time.Duration
	}{
		{"others may count from when the request was sent", nil, 0},
		{"a request that has failed renews nothing", refused, -time.Minute},
	} {
		start := time.Now()
		clock := &stopwatch{start}
		tenure := newTenure(0, time.Hour, clock.now)
		tenure.renew(start.Add(-time.Minute))
		late := func(context.Context, resourcelock.LeaderElectionRecord) error {
			clock.Time = clock.Add(time.Second)
			return test.answer
		}
		l := &lock{tenure: tenure, timeout: time.Hour}
		if err := l.write(t.Context(), resourcelock.LeaderElectionRecord{}, late); !errors.Is(err, test.answer) {
			t.Errorf("%s: want the answer to be returned, got %v", test.reason, err)
		}
		if got := tenure.renewed.Sub(start); got != test.want {
			t.Errorf("%s: want the lease to count from %s, got %s", test.reason, test.want, got)
		}
	}
}

func TestContextsEndWithTheTenure(t *testing.T) {
	t.Parallel()
	tenure := newTenure(0, time.Hour, time.Now)
	ctx, cancel := tenure.Context(t.Context())
	defer cancel()
	tenure.finish()
	testenv.Receive(t, ctx.Done(), "the tenure is over")
	if !errors.Is(context.Cause(ctx), ErrOver) {
		t.Errorf("want the cause to be told, got %v", context.Cause(ctx))
	}
}
