// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/component-operator/runtime/internal/apiserver"
)

// referenceFeed watches one kind in one namespace. Its state is protected by the mutex of the ReferenceWatcher.
type referenceFeed struct {
	watcher *ReferenceWatcher
	scope   referenceScope
	cancel  context.CancelFunc

	synced    bool
	forbidden bool
	versions  map[string]string
}

func (w *ReferenceWatcher) startFeed(s referenceScope) *referenceFeed {
	ctx, cancel := context.WithCancel(w.ctx)
	f := &referenceFeed{watcher: w, scope: s, cancel: cancel, versions: map[string]string{}}
	go f.run(ctx)
	return f
}

func (f *referenceFeed) run(ctx context.Context) {
	attempts := 0
	for ctx.Err() == nil {
		err := f.listAndWatch(ctx)
		if ctx.Err() != nil {
			return
		}
		attempts++
		delay := min(250*time.Millisecond<<min(attempts, 10), time.Minute)
		switch {
		case err == nil:
			// The server ends watches now and then. Until the next one is established, versions may be outdated for a
			// moment, as they may be during a watch.
			attempts, delay = 0, 100*time.Millisecond
		case apierrors.IsForbidden(err):
			delay = f.watcher.options.ForbiddenRetry
		}
		f.ended(err)
		select {
		case <-ctx.Done():
		case <-time.After(delay + rand.N(delay/4)):
		}
	}
}

// ended records that a watch has ended, with or without an error.
func (f *referenceFeed) ended(err error) {
	if err == nil {
		return
	}
	w := f.watcher
	w.mu.Lock()
	forbidden := apierrors.IsForbidden(err)
	news := forbidden && !f.forbidden
	f.synced, f.forbidden = false, forbidden
	w.mu.Unlock()
	if news {
		w.options.Log.Info("referenced objects cannot be watched; they are read each time", "kind", f.scope.kind, "namespace", f.scope.namespace, "error", err.Error())
	}
}

func (f *referenceFeed) listAndWatch(ctx context.Context) error {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: f.scope.kind.resource()}
	resource := f.watcher.options.Metadata.Resource(gvr).Namespace(f.scope.namespace)
	name := "references to " + gvr.Resource + " in " + f.scope.namespace
	all := apiserver.ListWatch(resource, apiserver.ListSelection{})
	reflector := cache.NewReflectorWithOptions(all, &metav1.PartialObjectMetadata{}, (*referenceStore)(f), cache.ReflectorOptions{Name: name})
	return reflector.ListAndWatchWithContext(ctx)
}

// referenceStore is the reflector's view of a feed. It keeps only resource versions.
type referenceStore referenceFeed

// Add records a new object.
func (s *referenceStore) Add(object any) error { return s.seen(object, false) }

// Update records a changed object.
func (s *referenceStore) Update(object any) error { return s.seen(object, false) }

// Delete records that an object is gone.
func (s *referenceStore) Delete(object any) error { return s.seen(object, true) }

// Replace records the complete state.
func (s *referenceStore) Replace(objects []any, _ string) error {
	s.watcher.replaced((*referenceFeed)(s), versionsOf(objects))
	return nil
}

// Resync does nothing.
func (s *referenceStore) Resync() error { return nil }

func (s *referenceStore) seen(object any, gone bool) error {
	for name, version := range versionsOf([]any{object}) {
		if gone {
			version = ""
		}
		s.watcher.seen((*referenceFeed)(s), name, version)
	}
	return nil
}
