// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"sync"

	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// triggerCapacity is the number of triggers that are kept while the controller does not run.
const triggerCapacity = 1024

// wakeups puts components into the queue of the controller. It is a source of the controller.
type wakeups struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early []apitypes.NamespacedName
}

var _ source.Source = &wakeups{}

func newWakeups() *wakeups { return &wakeups{} }

// Start takes over the queue, when the controller is started.
func (w *wakeups) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	for _, key := range w.early {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
	w.early = nil
	return nil
}

// wake has the component reconciled at once. Before the controller runs it does nothing, since all components are
// reconciled when it starts. It does not block.
func (w *wakeups) wake(key apitypes.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.queue.Add(reconcile.Request{NamespacedName: key})
	}
}

// trigger is wake for requests that may come early.
func (w *wakeups) trigger(key apitypes.NamespacedName) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.queue != nil:
		w.queue.Add(reconcile.Request{NamespacedName: key})
	case len(w.early) >= triggerCapacity:
		return fmt.Errorf("triggering %s: %d components are waiting already", key, len(w.early))
	default:
		w.early = append(w.early, key)
	}
	return nil
}
