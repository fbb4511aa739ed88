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

// Components are worked on in the order of their priorities, the highest first; those of the same priority in the order in
// which they became due. Who has several reasons to be reconciled has the highest of their priorities. A component that was
// created, changed or deleted has priority zero, which is controller-runtime's own. Who waits gains priority; see NewQueue.
const (
	// PriorityWoken is that of a component of which something else has changed, and of one that failed.
	PriorityWoken = handler.LowPriority / 2
	// PriorityPeriodic is that of a component about which nothing is known to have happened: of those that exist when the
	// operator starts, to which controller-runtime gives it, and of those whose requeue interval is over.
	PriorityPeriodic = handler.LowPriority
)

// TriggerCapacity is the number of triggers that are kept while the controller does not run.
const TriggerCapacity = 1024

// Wakeups puts components into the queue of the controller. It is a source of the controller.
type Wakeups struct {
	mu    sync.Mutex
	Queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early []apitypes.NamespacedName
	// Started is closed when there is a queue.
	Started chan struct{}
}

var _ source.Source = &Wakeups{}

// NewWakeups returns wakeups that have no queue yet.
func NewWakeups() *Wakeups { return &Wakeups{Started: make(chan struct{})} }

// Start takes over the queue, when the controller is started.
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

// add must be called with the lock held. A queue without priorities is one that the author of the operator has chosen.
func (w *Wakeups) add(key apitypes.NamespacedName, priority int, after time.Duration) {
	request := reconcile.Request{NamespacedName: key}
	if queue, ok := w.Queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority, After: after}, request)
		return
	}
	w.Queue.AddAfter(request, after)
}

// Wake has the component reconciled at once. Before the controller runs it does nothing, since all components are
// reconciled when it starts. It does not block.
func (w *Wakeups) Wake(key apitypes.NamespacedName) { w.WakeAfter(key, 0) }

// WakeAfter is wake after a delay. If the component is due earlier anyway, it has no effect.
func (w *Wakeups) WakeAfter(key apitypes.NamespacedName, delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Queue != nil {
		w.add(key, PriorityWoken, delay)
	}
}

// Due has the component reconciled when there is nothing more urgent. Before the controller runs it does nothing.
func (w *Wakeups) Due(key apitypes.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Queue != nil {
		w.add(key, PriorityPeriodic, 0)
	}
}

// Trigger is wake for requests that may come early.
func (w *Wakeups) Trigger(key apitypes.NamespacedName) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.Queue != nil:
		w.add(key, PriorityWoken, 0)
	case len(w.early) >= TriggerCapacity:
		return fmt.Errorf("triggering %s: %d components are waiting already", key, len(w.early))
	default:
		w.early = append(w.early, key)
	}
	return nil
}
