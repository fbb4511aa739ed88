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
	// agingInterval is the waiting time after which the priority of a component is raised, repeatedly.
	agingInterval = 30 * time.Second
	// agingStep is the amount by which it is raised. Periodic passes reach the priority of changes by users after two minutes, woken components after
	// one.
	agingStep = 25
	// priorityHighest is the highest priority that waiting can reach. Components with this priority are served in the order of arrival.
	priorityHighest = 0
)

// New returns a priority queue that raises the priority of waiting components; see NewQueue of package component.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	queue := newAgingQueue(name, limiter, clock.RealClock{})
	go queue.run()
	return queue
}

// AgingQueue tracks what is added to a priority queue and taken out of it. It may miss an item that is added in the instant in which it is taken out;
// such an item keeps its priority until it is added again.
type AgingQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	Clock   clock.WithTicker
	Ended   chan struct{}
	end     func()

	mu      sync.Mutex
	waiting map[reconcile.Request]*waiter
}

// waiter is an item of the queue.
type waiter struct {
	// since is when it became, or becomes, due.
	since time.Time
	// priority is the one it was added with, raised the one it has now.
	priority, raised int
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &AgingQueue{}

func newAgingQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], clk clock.WithTicker) *AgingQueue {
	inner := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
	ended := make(chan struct{})
	return &AgingQueue{
		PriorityQueue: inner, limiter: limiter, Clock: clk, Ended: ended, end: sync.OnceFunc(func() { close(ended) }),
		waiting: map[reconcile.Request]*waiter{},
	}
}

// run raises priorities until the queue is shut down.
func (q *AgingQueue) run() {
	ticker := q.Clock.NewTicker(agingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			q.age()
		case <-q.Ended:
			return
		}
	}
}

// age raises the priorities of waiting items.
func (q *AgingQueue) age() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.Clock.Now()
	for request, found := range q.waiting {
		priority := agedPriority(found.priority, now.Sub(found.since))
		if priority <= found.raised {
			continue
		}
		found.raised = priority
		q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
	}
}

// agedPriority returns the priority of an item after a waiting time.
func agedPriority(priority int, waited time.Duration) int {
	if waited < agingInterval || priority >= priorityHighest {
		return priority
	}
	return min(priority+agingStep*int(waited/agingInterval), priorityHighest)
}

// AddWithOpts adds items, or changes existing ones; see priorityqueue.PriorityQueue.
func (q *AgingQueue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		q.add(options, request)
	}
}

func (q *AgingQueue) add(options priorityqueue.AddOpts, request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if options.RateLimited {
		delay := q.limiter.When(request)
		if options.After == 0 || delay < options.After {
			options.After = delay
		}
		options.RateLimited = false
	}
	since, priority := q.Clock.Now().Add(max(options.After, 0)), ptr.Deref(options.Priority, 0)
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
func (q *AgingQueue) Add(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{}, request)
}

// AddAfter adds an item with priority zero that becomes due after the delay.
func (q *AgingQueue) AddAfter(request reconcile.Request, delay time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: delay}, request)
}

// AddRateLimited adds an item with priority zero that becomes due when the rate limiter says.
func (q *AgingQueue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// GetWithPriority waits for an item and takes it out.
func (q *AgingQueue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, priority, shutdown = q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	if found := q.waiting[request]; found != nil {
		// The pass that starts now ends the wait. If it has to be repeated, it starts with its original priority.
		priority = min(priority, found.priority)
		delete(q.waiting, request)
	}
	return request, priority, shutdown
}

// Get waits for an item and takes it out.
func (q *AgingQueue) Get() (request reconcile.Request, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

// ShutDown ends the queue.
func (q *AgingQueue) ShutDown() {
	q.end()
	q.PriorityQueue.ShutDown()
}

// ShutDownWithDrain ends the queue; priority queues are not drained.
func (q *AgingQueue) ShutDownWithDrain() {
	q.end()
	q.PriorityQueue.ShutDownWithDrain()
}
