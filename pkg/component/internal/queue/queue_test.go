// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func named(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: apitypes.NamespacedName{Name: name}}
}

// churningQueue is a queue that is never empty: busy items are added again at once, with the priority of a user's
// change.
type churningQueue struct {
	*agingQueue
	clock *clocktesting.FakeClock
}

func newChurningQueue(t *testing.T) *churningQueue {
	t.Helper()
	fake := clocktesting.NewFakeClock(time.Unix(1000, 0))
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Hour, time.Hour)
	aging, _ := New("churning", limiter, fake).(*agingQueue)
	t.Cleanup(aging.ShutDown)
	return &churningQueue{agingQueue: aging, clock: fake}
}

// churn serves a number of items and returns the names of those that are not busy.
func (q *churningQueue) churn(count int, busy ...string) (served []string) {
	for range count {
		request, _, _ := q.GetWithPriority()
		if slices.Contains(busy, request.Name) {
			q.Add(request)
		} else {
			served = append(served, request.Name)
		}
		q.Done(request)
	}
	return served
}

// wait has some time go by.
func (q *churningQueue) wait(duration time.Duration) {
	q.clock.Step(duration)
	q.age(0)
}

func low(priority int, after time.Duration) priorityqueue.AddOpts {
	return priorityqueue.AddOpts{Priority: &priority, After: after}
}

func TestNoComponentStarves(t *testing.T) {
	t.Parallel()
	q := newChurningQueue(t)
	busy := []string{"busy-1", "busy-2", "busy-3"}
	for _, name := range busy {
		q.Add(named(name))
	}
	for range 2 { // the second wait starts from zero
		q.AddWithOpts(low(PriorityPeriodic, 0), named("periodic"))
		q.AddWithOpts(low(PriorityWoken, 0), named("woken"))
		q.wait(LongestWait - time.Second)
		expect(t, "items that are served before they have waited long", []string(nil), q.churn(20, busy...))
		q.wait(time.Second)
		served := q.churn(5, busy...)
		slices.Sort(served)
		expect(t, "items that are served after they have waited long", []string{"periodic", "woken"}, served)
	}
}

// TestAgingOfItemsThatAreNotDue checks that no item is served, or gains priority, too early.
func TestAgingOfItemsThatAreNotDue(t *testing.T) {
	t.Parallel()
	q := newChurningQueue(t)
	q.Add(named("busy"))
	q.AddWithOpts(low(PriorityPeriodic, time.Hour), named("later"))
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(PriorityWoken), RateLimited: true}, named("limited"))
	q.wait(LongestDelay)
	expect(t, "served items", []string(nil), q.churn(20, "busy"))
	expect(t, "due items", 1, q.Len())
	// An event makes the item due.
	q.AddWithOpts(low(PriorityPeriodic, 0), named("later"))
	q.wait(LongestWait - time.Second)
	expect(t, "served items after an event", []string(nil), q.churn(20, "busy"))
	q.wait(time.Second)
	served := q.churn(3, "busy")
	slices.Sort(served)
	expect(t, "served items after a long wait", []string{"later", "limited"}, served)
}

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAllowances(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key, other := apitypes.NamespacedName{Name: "a"}, apitypes.NamespacedName{Name: "b"}
	for _, tc := range []struct {
		reason string
		passes int
		every  time.Duration
		after  time.Duration
		want   time.Duration
	}{
		{"nothing has happened", 0, 0, 0, 0},
		{"a burst is allowed", 49, 0, 0, 0},
		{"after a burst a pass waits", 50, 0, 0, time.Second},
		{"the time that has gone counts", 50, 0, 700 * time.Millisecond, 300 * time.Millisecond},
		{"one pass is allowed each second", 50, 0, time.Second, 0},
		{"what others cause is not counted for ever", 1000, 0, 0, time.Second},
		{"passes that are a second apart never wait", 1000, time.Second, 0, 0},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			var a Allowances
			now := begin
			for range tc.passes {
				now = now.Add(tc.every)
				a.Spend(key, now)
			}
			now = now.Add(tc.after)
			if got := a.Delay(key, now); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
			if got := a.Delay(other, now); got != 0 {
				t.Errorf("another component has to wait for %s", got)
			}
			a.Forget(key)
			if got := a.Delay(key, now); got != 0 || len(a.spent) > 0 {
				t.Errorf("what is forgotten has to wait for %s", got)
			}
		})
	}
}

// TestPlaces plays visits of targets. A step has a target, what happens, and whether there is a place for it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		workers int
		steps   []string
	}{
		{"half of the workers visit unknown targets", 5, []string{"a enters ok", "b enters ok", "c enters no", "a leaves", "c enters ok"}},
		{"there is at least one place", 1, []string{"a enters ok", "b enters no", "a leaves", "b enters ok"}},
		{"quick targets need no place", 2, []string{"a enters ok", "a leaves", "b enters ok", "a enters ok"}},
		{"a target that was slow is expected to be slow", 2, []string{"a enters ok", "a leaves slow", "b enters ok", "a enters no"}},
	} {
		places, visits := NewPlaces(test.workers, 0), map[string]func(slow bool){}
		for i, step := range test.steps {
			fields := strings.Fields(step)
			target, last := fields[0], fields[len(fields)-1]
			if fields[1] == "leaves" {
				visits[target](last == "slow")
				continue
			}
			leave, ok := places.enter(target)
			visits[target] = leave
			if ok != (last == "ok") {
				t.Errorf("%s: step %d: %s: got %t", test.reason, i, step, ok)
			}
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
