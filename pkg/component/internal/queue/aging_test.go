// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func named(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: apitypes.NamespacedName{Name: name}}
}

// churningQueue is a queue that never gets empty: who was served is added again at once, with the priority of a user's change.
type churningQueue struct {
	*AgingQueue
	clock *clocktesting.FakeClock
}

func newChurningQueue(t *testing.T) *churningQueue {
	t.Helper()
	fake := clocktesting.NewFakeClock(time.Unix(1000, 0))
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Hour, time.Hour)
	queue := &churningQueue{AgingQueue: newAgingQueue("churning", limiter, fake), clock: fake}
	t.Cleanup(queue.ShutDown)
	return queue
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

// waits has some time go by.
func (q *churningQueue) wait(duration time.Duration) {
	q.clock.Step(duration)
	q.age()
}

func TestNoComponentStarves(t *testing.T) {
	t.Parallel()
	q := newChurningQueue(t)
	for _, name := range []string{"busy-1", "busy-2", "busy-3"} {
		q.Add(named(name))
	}
	busy := []string{"busy-1", "busy-2", "busy-3"}
	low := func(priority int) priorityqueue.AddOpts { return priorityqueue.AddOpts{Priority: &priority} }
	q.AddWithOpts(low(PriorityPeriodic), named("periodic"))
	q.AddWithOpts(low(PriorityWoken), named("woken"))
	expect(t, "who is served while others churn", []string(nil), q.churn(20, busy...))
	q.wait(agingInterval)
	expect(t, "after a short wait", []string(nil), q.churn(20, busy...))
	q.wait(agingInterval)
	expect(t, "who was woken has its turn with those who are busy", []string{"woken"}, q.churn(4, busy...))
	q.wait(agingInterval)
	expect(t, "what is merely due waits longer", []string(nil), q.churn(20, busy...))
	q.wait(agingInterval)
	expect(t, "but not for ever", []string{"periodic"}, q.churn(4, busy...))
	expect(t, "those who wait", 3, q.Len())

	// The next wait starts from zero.
	q.AddWithOpts(low(PriorityPeriodic), named("periodic"))
	q.wait(agingInterval)
	expect(t, "who was served a short time ago", []string(nil), q.churn(20, busy...))
	for range 3 {
		q.wait(agingInterval)
	}
	expect(t, "who was served a long time ago", []string{"periodic"}, q.churn(4, busy...))
}

// TestAgingOfWhatIsNotDue checks that no component is served, or gains priority, too early.
func TestAgingOfWhatIsNotDue(t *testing.T) {
	t.Parallel()
	q := newChurningQueue(t)
	q.Add(named("busy"))
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(PriorityPeriodic), After: time.Hour}, named("later"))
	q.AddRateLimited(named("limited"))
	q.AddAfter(named("after"), time.Hour)
	for range 5 {
		q.wait(agingInterval)
	}
	expect(t, "who is served", []string(nil), q.churn(20, "busy"))
	expect(t, "what is due", 1, q.Len())
	// An event makes it due; the wait begins with it, and not with the one for the time.
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(PriorityPeriodic)}, named("later"))
	q.wait(agingInterval)
	expect(t, "who is served when something has happened", []string(nil), q.churn(20, "busy"))
	q.wait(3 * agingInterval)
	expect(t, "who is served in the end", []string{"later"}, q.churn(2, "busy"))
}

func TestPriorityThatIsHandedOut(t *testing.T) {
	t.Parallel()
	q := newChurningQueue(t)
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(PriorityPeriodic)}, named("periodic"))
	q.wait(10 * agingInterval)
	_, priority, _ := q.GetWithPriority()
	expect(t, "a pass that is repeated begins with its own priority", PriorityPeriodic, priority)
}

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
