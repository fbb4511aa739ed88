// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

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
func (w *Wakeups) Wake(key apitypes.NamespacedName) { w.WakeAfter(key, 0) }

// WakeAfter schedules a pass after a delay. It has no effect if the component is due earlier.
func (w *Wakeups) WakeAfter(key apitypes.NamespacedName, delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Queue != nil {
		w.add(key, PriorityWoken, delay)
	}
}

// Due schedules a pass with low priority. Before the controller runs it does nothing.
func (w *Wakeups) Due(key apitypes.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Queue != nil {
		w.add(key, PriorityPeriodic, 0)
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
