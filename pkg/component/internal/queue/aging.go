// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// agingInterval is the time between two looks at the waiting components.
	agingInterval = 30 * time.Second
	// LongestWait is how long a component waits before it gets the priority of a user's change.
	LongestWait = 2 * time.Minute
	// LongestDelay is the longest delay after a failed pass.
	LongestDelay = 10 * time.Minute
)

// New returns a priority queue that raises the priority of components that have waited long; see NewQueue of package
// component.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	queue := newAgingQueue(name, limiter, clock.RealClock{})
	go queue.run()
	return queue
}

// agingQueue is a priority queue that remembers when items of low priority become due.
type agingQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	clock clock.WithTicker
	ended chan struct{}
	end   func()

	mu  sync.Mutex
	due map[reconcile.Request]time.Time
}

func newAgingQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], clk clock.WithTicker) *agingQueue {
	inner := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
	ended := make(chan struct{})
	return &agingQueue{PriorityQueue: inner, clock: clk, ended: ended, end: sync.OnceFunc(func() { close(ended) }), due: map[reconcile.Request]time.Time{}}
}

// run raises priorities until the queue is shut down.
func (q *agingQueue) run() {
	ticker := q.clock.NewTicker(agingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			q.age()
		case <-q.ended:
			return
		}
	}
}

// age raises the priority of items that have waited long. They are then served in the order of arrival.
func (q *agingQueue) age() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
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

// ShutDown ends the queue.
func (q *agingQueue) ShutDown() {
	q.end()
	q.PriorityQueue.ShutDown()
}

// ShutDownWithDrain ends the queue; priority queues are not drained.
func (q *agingQueue) ShutDownWithDrain() {
	q.end()
	q.PriorityQueue.ShutDownWithDrain()
}
