// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"sync"
	"time"

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
			go c.watchType(c.ctx, resource, &typeStore{watch: state})
		}
	})
}

func (c *Cache) watchType(ctx context.Context, resource schema.GroupVersionResource, store *typeStore) {
	delay := time.Second
	for ctx.Err() == nil {
		err := c.listAndWatchMetadata(ctx, source{resource: resource}, store)
		if err == nil && store.synced {
			delay = time.Second
		}
		store.lost()
		delay = min(delay, longestDelay(err))
		select {
		case <-ctx.Done():
		case <-time.After(jitter(delay)):
		}
		delay *= 2
	}
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

// typeStore keeps nothing. It is used by one reflector.
type typeStore struct {
	watch *typeWatch
	// synced is set while the resource is watched, known after the first list.
	synced, known bool
}

func (s *typeStore) lost() {
	if s.synced {
		s.synced = false
		s.watch.count(1)
	}
}

// Add reports a change.
func (s *typeStore) Add(any) error { return s.Delete(nil) }

// Update reports a change.
func (s *typeStore) Update(any) error { return s.Delete(nil) }

// Delete reports a change.
func (s *typeStore) Delete(any) error {
	s.watch.listener.Changed()
	return nil
}

// Replace reports a change unless it is the first list: objects may have changed between two lists.
func (s *typeStore) Replace([]any, string) error {
	if !s.synced {
		s.synced = true
		s.watch.count(-1)
	}
	if s.known {
		s.watch.listener.Changed()
	}
	s.known = true
	return nil
}

// Resync does nothing.
func (s *typeStore) Resync() error { return nil }
