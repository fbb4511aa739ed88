// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
)

// TestNoPassIsRepeatedWithinASecond goes through all outcomes, with everything that can make the next pass come early.
func TestNoPassIsRepeatedWithinASecond(t *testing.T) {
	t.Parallel()
	never := map[outcomes.Kind]string{
		outcomes.Archived:  "a change of the component brings the dependents back",
		outcomes.Error:     "the controller's rate limiter says when",
		outcomes.Continue:  "no pass ends with it",
		outcomes.Gone:      "there is nothing left to do",
		outcomes.Abandoned: "conclude handles it before anything is decided",
	}
	for kind := outcomes.Continue; kind <= outcomes.Abandoned; kind++ {
		for _, early := range []time.Duration{0, 1, time.Microsecond, time.Second - 1} {
			why := never[kind]
			if kind == outcomes.Suspended && early == 0 {
				why = "a change of the component ends a suspension that leaves the dependents alone"
			}
			for _, deleting := range []bool{false, true} {
				expectFloor(t, kind, early, deleting, why)
			}
		}
	}
	for name, delay := range map[string]time.Duration{"abandoned": abandonedDelay, "refused": outcomes.FirstBackoff, "interval": shortestInterval} {
		if delay < time.Second {
			t.Errorf("%s: got %s", name, delay)
		}
	}
	limiter, request := errorDelays(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}}
	for range 100 {
		if delay := limiter.When(request); delay < time.Second || delay > longestErrorDelay {
			t.Errorf("error: got %s", delay)
		}
	}
}

func expectFloor(t *testing.T, kind outcomes.Kind, early time.Duration, deleting bool, never string) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, since := range []time.Time{{}, now, now.Add(-time.Minute + 1), now.Add(-time.Hour)} {
		o := outcomes.Outcome{Kind: kind, Wake: early, RetryAfter: &early, Err: errors.New("boom")}
		d := decide(o, history{deleting: deleting, since: since}, timing{requeue: time.Second, retry: time.Second, timeout: time.Minute}, now)
		switch {
		case never != "" && d.requeue != 0:
			t.Errorf("outcome %d is not repeated by time, because %s; got %s", kind, never, d.requeue)
		case never == "" && d.requeue < time.Second:
			t.Errorf("outcome %d (wake %s, deleting %t, since %s): got %s", kind, early, deleting, since, d.requeue)
		}
	}
}
