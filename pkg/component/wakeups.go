// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

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
	// priorityWoken is that of a component of which something else has changed, and of one that failed.
	priorityWoken = handler.LowPriority / 2
	// priorityPeriodic is that of a component about which nothing is known to have happened: of those that exist when the
	// operator starts, to which controller-runtime gives it, and of those whose requeue interval is over.
	priorityPeriodic = handler.LowPriority
)

// triggerCapacity is the number of triggers that are kept while the controller does not run.
const triggerCapacity = 1024

// wakeups puts components into the queue of the controller. It is a source of the controller.
type wakeups struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early []apitypes.NamespacedName
	// started is closed when there is a queue.
	started chan struct{}
}

var _ source.Source = &wakeups{}

func newWakeups() *wakeups { return &wakeups{started: make(chan struct{})} }

// Start takes over the queue, when the controller is started.
func (w *wakeups) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	for _, key := range w.early {
		w.add(key, priorityWoken, 0)
	}
	w.early = nil
	close(w.started)
	return nil
}

// add must be called with the lock held. A queue without priorities is one that the author of the operator has chosen.
func (w *wakeups) add(key apitypes.NamespacedName, priority int, after time.Duration) {
	request := reconcile.Request{NamespacedName: key}
	if queue, ok := w.queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority, After: after}, request)
		return
	}
	w.queue.AddAfter(request, after)
}

// wake has the component reconciled at once. Before the controller runs it does nothing, since all components are
// reconciled when it starts. It does not block.
func (w *wakeups) wake(key apitypes.NamespacedName) { w.wakeAfter(key, 0) }

// wakeAfter is wake after a delay. If the component is due earlier anyway, it has no effect.
func (w *wakeups) wakeAfter(key apitypes.NamespacedName, delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.add(key, priorityWoken, delay)
	}
}

// due has the component reconciled when there is nothing more urgent. Before the controller runs it does nothing.
func (w *wakeups) due(key apitypes.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.add(key, priorityPeriodic, 0)
	}
}

// trigger is wake for requests that may come early.
func (w *wakeups) trigger(key apitypes.NamespacedName) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.queue != nil:
		w.add(key, priorityWoken, 0)
	case len(w.early) >= triggerCapacity:
		return fmt.Errorf("triggering %s: %d components are waiting already", key, len(w.early))
	default:
		w.early = append(w.early, key)
	}
	return nil
}
