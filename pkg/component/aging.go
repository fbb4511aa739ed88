// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// agingInterval is the waiting time after which the priority of a component is raised, again and again.
	agingInterval = 30 * time.Second
	// agingStep is by how much. What is due reaches the priority of user changes after two minutes, what was woken after one.
	agingStep = 25
	// priorityHighest is the priority up to which components are raised. Among those that have it, the order is that of arrival,
	// so that each of them has its turn.
	priorityHighest = 0
)

// NewQueue returns a priority queue that raises the priority of components that wait: none starves while others come in
// without end. SetupWithManager uses it; who calls SetupWithManagerAndBuilder can set the option NewQueue of the controller to it.
func NewQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	queue := newAgingQueue(name, limiter, clock.RealClock{})
	go queue.run()
	return queue
}

// agingQueue follows what is added to a priority queue and taken out of it. What is added in the instant in which it is taken out
// may be missed, and keeps its priority until it is added again.
type agingQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	clock   clock.WithTicker
	ended   chan struct{}
	end     func()

	mu      sync.Mutex
	waiting map[reconcile.Request]*waiter
}

// waiter is an item of the queue.
type waiter struct {
	// since is when it became, or becomes, due.
	since time.Time
	// priority is what it was added with, raised what it has by now.
	priority, raised int
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &agingQueue{}

func newAgingQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], clk clock.WithTicker) *agingQueue {
	inner := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
	ended := make(chan struct{})
	return &agingQueue{
		PriorityQueue: inner, limiter: limiter, clock: clk, ended: ended, end: sync.OnceFunc(func() { close(ended) }),
		waiting: map[reconcile.Request]*waiter{},
	}
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

// age raises the priorities of those that have waited.
func (q *agingQueue) age() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	for request, found := range q.waiting {
		priority := agedPriority(found.priority, now.Sub(found.since))
		if priority <= found.raised {
			continue
		}
		found.raised = priority
		q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
	}
}

// agedPriority is the priority of something that was added with one and has waited for some time since.
func agedPriority(priority int, waited time.Duration) int {
	if waited < agingInterval || priority >= priorityHighest {
		return priority
	}
	return min(priority+agingStep*int(waited/agingInterval), priorityHighest)
}

// AddWithOpts adds items, or changes those that are there; see priorityqueue.PriorityQueue.
func (q *agingQueue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		q.add(options, request)
	}
}

func (q *agingQueue) add(options priorityqueue.AddOpts, request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if options.RateLimited {
		delay := q.limiter.When(request)
		if options.After == 0 || delay < options.After {
			options.After = delay
		}
		options.RateLimited = false
	}
	since, priority := q.clock.Now().Add(max(options.After, 0)), valueOr(options.Priority, 0)
	if found := q.waiting[request]; found == nil {
		q.waiting[request] = &waiter{since: since, priority: priority, raised: priority}
	} else {
		if since.Before(found.since) {
			found.since = since
		}
		found.priority, found.raised = max(found.priority, priority), max(found.raised, priority)
	}
	q.PriorityQueue.AddWithOpts(options, request)
}

// Add adds an item with priority zero.
func (q *agingQueue) Add(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{}, request)
}

// AddAfter adds an item with priority zero that becomes due after the delay.
func (q *agingQueue) AddAfter(request reconcile.Request, delay time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: delay}, request)
}

// AddRateLimited adds an item with priority zero that becomes due when the rate limiter says.
func (q *agingQueue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// GetWithPriority waits for an item and takes it out.
func (q *agingQueue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, priority, shutdown = q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	if found := q.waiting[request]; found != nil {
		// The pass that begins ends the wait: if it has to be repeated, it begins where it was before.
		priority = min(priority, found.priority)
		delete(q.waiting, request)
	}
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
