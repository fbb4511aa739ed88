// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// typeSources are the resources that define types.
var typeSources = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

// TypeListener is notified of changes of the types of a cluster. Its functions may be called from several goroutines.
type TypeListener struct {
	// Watched is called with true when all resources that define types are watched, and with false when one watch ends.
	// Required.
	Watched func(watched bool)
	// Changed is called when an object that defines types was added, changed or removed. Required.
	Changed func()
}

// WatchTypes notifies the listener until the cache is closed. It watches metadata only. The second and later calls have
// no effect.
func (c *Cache) WatchTypes(listener TypeListener) {
	c.types.Do(func() {
		state := &typeWatch{listener: c.absent.listener(listener), missing: len(typeSources)}
		for _, resource := range typeSources {
			go state.run(c, resource)
		}
	})
}

// typeWatch combines the watches of all sources.
type typeWatch struct {
	listener TypeListener

	mu      sync.Mutex
	missing int
}

func (w *typeWatch) count(missing int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.missing == 0
	w.missing += missing
	if after := w.missing == 0; after != before {
		w.listener.Watched(after)
	}
}

// run watches one source. Objects may have changed between two lists.
func (w *typeWatch) run(c *Cache, resource schema.GroupVersionResource) {
	synced, known := false, false
	repeat(c.ctx, func(ctx context.Context) error {
		return c.observe(ctx, source{resource: resource}, func([]metav1.Object) {
			if !synced {
				synced = true
				w.count(-1)
			}
			if known {
				w.listener.Changed()
			}
			known = true
		}, func(metav1.Object, bool) { w.listener.Changed() })
	}, func(error) {
		if synced {
			synced = false
			w.count(1)
		}
	})
}
