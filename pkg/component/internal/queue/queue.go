// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package queue decides in which order, how often, and how long components are reconciled.
//
// # Contract
//
// A component that has waited for LongestWait comes before all that become due later. Other objects cause at most one
// pass per second in the long run.
//
// A pass ends after LongestPass, and the next one continues. At most half of a controller's workers wait for slow
// clusters; a component without a place tries again later. A cluster that becomes slow keeps the workers that are
// waiting for it, each for one pass.
package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// agingInterval is the minimum interval between checks of the waiting components.
	agingInterval = 30 * time.Second
	// LongestWait is how long a component waits before it gets the priority of a user's change.
	LongestWait = 2 * time.Minute
	// LongestDelay is the delay that is assumed for rate-limited requests.
	LongestDelay = 10 * time.Minute
)

// New returns a priority queue that raises the priority of components that have waited long; see NewQueue of package
// component.
func New(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request], clk clock.PassiveClock,
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	inner := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
	return &agingQueue{PriorityQueue: inner, clock: clk, due: map[reconcile.Request]time.Time{}}
}

// agingQueue is a priority queue that remembers when items of low priority become due.
type agingQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	clock clock.PassiveClock

	mu  sync.Mutex
	due map[reconcile.Request]time.Time
	// aged is when the waiting items were last checked.
	aged time.Time
}

// age raises the priority of items that have waited long, unless they were checked within the interval. They are then
// served in the order of arrival.
func (q *agingQueue) age(interval time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	if now.Sub(q.aged) < interval {
		return
	}
	q.aged = now
	for request, due := range q.due {
		if now.Sub(due) >= LongestWait {
			delete(q.due, request)
			q.PriorityQueue.Add(request)
		}
	}
}

// AddWithOpts adds items, or changes existing ones; see priorityqueue.PriorityQueue.
func (q *agingQueue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ptr.Deref(options.Priority, 0) < 0 {
		delay := options.After
		if options.RateLimited && delay == 0 {
			// Only the inner queue knows the delay.
			delay = LongestDelay
		}
		due := q.clock.Now().Add(delay)
		for _, request := range requests {
			if before, known := q.due[request]; !known || due.Before(before) {
				q.due[request] = due
			}
		}
	}
	q.PriorityQueue.AddWithOpts(options, requests...)
}

// GetWithPriority waits for an item and takes it out.
func (q *agingQueue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	q.age(agingInterval)
	request, priority, shutdown = q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.due, request)
	return request, priority, shutdown
}

// Get waits for an item and takes it out.
func (q *agingQueue) Get() (request reconcile.Request, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

// Turns ensures that passes of one component do not overlap. The controller does so anyway, but Reconcile is public.
// The zero value is ready for use.
type Turns struct {
	mu     sync.Mutex
	active map[apitypes.NamespacedName]*turn
}

type turn struct {
	sync.Mutex
	users int
}

// Begin waits until no other pass of the component is under way. The returned function ends the pass.
func (t *Turns) Begin(key apitypes.NamespacedName) (end func()) {
	t.mu.Lock()
	own := t.active[key]
	if own == nil {
		if t.active == nil {
			t.active = map[apitypes.NamespacedName]*turn{}
		}
		own = &turn{}
		t.active[key] = own
	}
	own.users++
	t.mu.Unlock()
	own.Lock()
	return func() {
		own.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.active, key)
		}
	}
}

// Passes returns the number of components with a running pass.
func (t *Turns) Passes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.active)
}

// Components are reconciled in the order of their priorities, the highest first, and, with equal priority, in the order
// in which they became due. Several reasons for a pass count with the highest of their priorities. A component that was
// created, changed or deleted has priority 0, the default of controller-runtime. Waiting raises the priority; see
// NewQueue.
const (
	// PriorityWoken is the priority of a component after a change of another object, or after a failure.
	PriorityWoken = handler.LowPriority / 2
	// PriorityPeriodic is the priority of a component without an event: of all components when the operator starts, set
	// by controller-runtime, and of components whose requeue interval has ended.
	PriorityPeriodic = handler.LowPriority
)

// TriggerCapacity is the number of triggers that are kept while the controller does not run.
const TriggerCapacity = 1024

// Wakeups adds components to the queue of the controller. It is a source of the controller.
type Wakeups struct {
	mu    sync.Mutex
	Queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early []apitypes.NamespacedName
	// Started is closed once there is a queue.
	Started chan struct{}
}

var _ source.Source = &Wakeups{}

// NewWakeups returns wakeups without a queue.
func NewWakeups() *Wakeups { return &Wakeups{Started: make(chan struct{})} }

// Start sets the queue when the controller starts.
func (w *Wakeups) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Queue = queue
	for _, key := range w.early {
		w.add(key, PriorityWoken, 0)
	}
	w.early = nil
	close(w.Started)
	return nil
}

// add must be called with the lock held. The author of the operator may have chosen a queue without priorities.
func (w *Wakeups) add(key apitypes.NamespacedName, priority int, after time.Duration) {
	request := reconcile.Request{NamespacedName: key}
	if queue, ok := w.Queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority, After: after}, request)
		return
	}
	w.Queue.AddAfter(request, after)
}

// Wake schedules a pass of the component at once. Before the controller runs it does nothing, because the controller
// reconciles all components when it starts. It does not block.
func (w *Wakeups) Wake(key apitypes.NamespacedName) { w.schedule(key, PriorityWoken, 0) }

// WakeAfter schedules a pass after a delay. It has no effect if the component is due earlier.
func (w *Wakeups) WakeAfter(key apitypes.NamespacedName, delay time.Duration) {
	w.schedule(key, PriorityWoken, delay)
}

// Due schedules a pass with low priority. Before the controller runs it does nothing.
func (w *Wakeups) Due(key apitypes.NamespacedName) { w.schedule(key, PriorityPeriodic, 0) }

func (w *Wakeups) schedule(key apitypes.NamespacedName, priority int, delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Queue != nil {
		w.add(key, priority, delay)
	}
}

// Trigger is Wake, but keeps requests that come before the controller runs.
func (w *Wakeups) Trigger(key apitypes.NamespacedName) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.Queue != nil:
		w.add(key, PriorityWoken, 0)
	case len(w.early) >= TriggerCapacity:
		return fmt.Errorf("triggering %s: %d components are already waiting", key, len(w.early))
	default:
		w.early = append(w.early, key)
	}
	return nil
}

const (
	// Burst is the number of passes of a component that events of other objects may cause in quick succession.
	// Dependents that become ready need far fewer.
	Burst = 50
	// Recovery is the time after which one more pass is allowed.
	Recovery = time.Second
)

// Allowances limit the passes that events of other objects cause. A user who may write an object that a component
// watches, or an object with the label of a dependent, must not be able to keep a worker busy. The zero value is ready
// for use.
type Allowances struct {
	mu    sync.Mutex
	spent map[apitypes.NamespacedName]allowance
}

// allowance is the part of its burst that a component has spent, at a time.
type allowance struct {
	spent time.Duration // in terms of recovery
	at    time.Time
}

// left returns the allowance at a time.
func (a allowance) left(now time.Time) allowance {
	return allowance{spent: max(a.spent-max(now.Sub(a.at), 0), 0), at: now}
}

// Spend counts a pass.
func (a *Allowances) Spend(key apitypes.NamespacedName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spent == nil {
		a.spent = map[apitypes.NamespacedName]allowance{}
	}
	current := a.spent[key].left(now)
	current.spent = min(current.spent+Recovery, Burst*Recovery)
	a.spent[key] = current
}

// Delay returns how long a pass caused by an event has to wait.
func (a *Allowances) Delay(key apitypes.NamespacedName, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.spent[key].left(now).spent-(Burst-1)*Recovery, 0)
}

// Forget drops the allowance of a component.
func (a *Allowances) Forget(key apitypes.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.spent, key)
}
