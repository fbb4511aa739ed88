// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// inventoryOf makes items of a given state.
func inventoryOf(count int, state string) []*reconciler.InventoryItem {
	items := deployed(make([]string, count)...)
	for i, item := range items {
		item.Name, item.Digest = fmt.Sprintf("web-%d", i), state
	}
	return items
}

// recorder is a worker without a manager that compresses from 5 items on, and has chunks from 34.
func (r *rig) recorder(config *rest.Config) *worker {
	r.tb.Helper()
	w := r.bareWorker(newWidget, "Widget")
	w.options.inlineLimit = 8000
	clnt, err := client.New(config, client.Options{Scheme: testScheme(r.tb)})
	if err != nil {
		r.tb.Fatal(err)
	}
	w.resource.Client, w.resource.Live = clnt, clnt
	return w
}

// saveInventory makes what the engine does when its plan has grown.
func (r *rig) saveInventory(w *worker, items []*reconciler.InventoryItem) error {
	r.tb.Helper()
	s := r.begin(w, r.widget(""))
	// With it, the mark of the inventory is written.
	s.status.ProcessingDigest = "digest"
	if o := s.recall(r.tb.Context()); o.Kind != outcomes.Continue {
		return fmt.Errorf("recalling the inventory: %s", o.Message)
	}
	if s.record.Gap() != "" {
		return fmt.Errorf("recalling the inventory: %s", s.record.Gap())
	}
	return s.record.Save(r.tb.Context(), items)
}

// TestDeathWhileRecording lets the process die after each request of each change of the record.
func TestDeathWhileRecording(t *testing.T) {
	t.Parallel()
	changed := inventoryOf(60, "a")
	changed[17].Digest = "b"
	for _, test := range []struct {
		reason      string
		before, now []*reconciler.InventoryItem
	}{
		{"nothing is packed", nil, inventoryOf(10, "a")},
		{"a packed list changes", inventoryOf(10, "a"), inventoryOf(11, "b")},
		{"a packed list becomes chunks", inventoryOf(10, "a"), inventoryOf(60, "b")},
		{"chunks are packed", inventoryOf(60, "a"), inventoryOf(7, "b")},
		{"a list becomes chunks", inventoryOf(3, "a"), inventoryOf(60, "a")},
		{"one chunk changes", inventoryOf(60, "a"), changed},
		{"chunks become a list", inventoryOf(60, "a"), inventoryOf(1, "b")},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for survived, done := 0, false; !done; survived++ {
				widget := r.widget("")
				r.create(widget)
				if len(test.before) > 0 {
					if err := r.saveInventory(r.recorder(testenv.Config(t)), test.before); err != nil {
						t.Fatal(err)
					}
				}
				config, left := testenv.Dying(testenv.Config(t), survived)
				err := r.saveInventory(r.recorder(config), test.now)
				done = left.Load() > 0
				if done && err != nil {
					t.Fatal(err)
				}
				found := r.recorded(widget)
				if !records.Same(found, test.before) && !records.Same(found, test.now) {
					t.Errorf("death after %d writes: want either inventory, got %d items", survived, len(found))
				}
				if err == nil && !records.Same(found, test.now) {
					t.Errorf("death after %d writes: want the new inventory, which was said to be saved", survived)
				}
				// The next process can continue, and leaves nothing over.
				if err := r.saveInventory(r.recorder(testenv.Config(t)), inventoryOf(60, "c")); err != nil {
					t.Fatal(err)
				}
				r.read(widget)
				r.expectRecord(widget, 60)
				r.forget(widget)
			}
		})
	}
}

func (r *rig) read(object client.Object) {
	r.tb.Helper()
	if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		r.tb.Fatal(err)
	}
}

// forget removes component and chunks.
func (r *rig) forget(widget *Widget) {
	r.tb.Helper()
	for name := range r.chunks() {
		r.lose(name)
	}
	r.delete(widget)
}

// lose removes a chunk in spite of its finalizer.
func (r *rig) lose(name string) {
	r.tb.Helper()
	chunk := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
	if err := r.client.Patch(r.tb.Context(), chunk, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		r.tb.Fatal(err)
	}
	if err := r.client.Delete(r.tb.Context(), chunk); client.IgnoreNotFound(err) != nil {
		r.tb.Fatal(err)
	}
}

// TestAnOutdatedProcessCannotOverwriteTheRecord is about two processes that begin with the same status.
func TestAnOutdatedProcessCannotOverwriteTheRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.widget("")
	r.create(widget)
	if err := r.saveInventory(r.recorder(testenv.Config(t)), inventoryOf(60, "a")); err != nil {
		t.Fatal(err)
	}
	begin := func() *pass {
		s := r.begin(r.recorder(testenv.Config(t)), widget)
		if o := s.recall(t.Context()); o.Kind != outcomes.Continue {
			t.Fatal(o.Message)
		}
		return s
	}
	newer, older := begin(), begin()
	if err := newer.record.Save(t.Context(), inventoryOf(60, "b")); err != nil {
		t.Fatal(err)
	}
	if err := older.record.Save(t.Context(), inventoryOf(60, "c")); !errors.Is(err, resource.ErrChanged) {
		t.Errorf("want the older process to end its pass, got %v", err)
	}
	if !records.Same(r.recorded(widget), inventoryOf(60, "b")) {
		t.Error("want the newer record to stay")
	}
	r.read(widget)
	r.expectRecord(widget, 60)
}

// TestAnOutdatedProcessCannotRemoveWhatIsUsedAgain lets one process remove, late, what another one refers to again.
func TestAnOutdatedProcessCannotRemoveWhatIsUsedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.widget("")
	r.create(widget)
	slow := r.recorder(testenv.Config(t))
	if err := r.saveInventory(slow, inventoryOf(60, "a")); err != nil {
		t.Fatal(err)
	}
	interrupted := false
	slow.resource.Client = interruptedClient{slow.resource.Client, sync.OnceFunc(func() {
		interrupted = true
		// Meanwhile, the inventory is again what it was.
		if err := r.saveInventory(r.recorder(testenv.Config(t)), inventoryOf(60, "a")); err != nil {
			t.Error(err)
		}
	})}
	if err := r.saveInventory(slow, inventoryOf(60, "b")); err != nil {
		t.Fatal(err)
	}
	if !interrupted || !records.Same(r.recorded(widget), inventoryOf(60, "a")) {
		t.Error("want the newer record to stay, with all its chunks")
	}
}

// interruptedClient does something before metadata is patched: that begins the removal of a chunk.
type interruptedClient struct {
	client.Client
	before func()
}

func (c interruptedClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if _, ok := object.(*metav1.PartialObjectMetadata); ok {
		c.before()
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

// TestDeathWhileAnOlderDefinitionDropsTheRecord lets the process die after each write by which it finds out that the
// definition does not know the record: the list must not go before.
func TestDeathWhileAnOlderDefinitionDropsTheRecord(t *testing.T) {
	t.Parallel()
	for _, count := range []int{10, 60} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			before, now := inventoryOf(3, "a"), inventoryOf(count, "a")
			for survived, done := 0, false; !done; survived++ {
				widget := r.widget("")
				r.create(widget)
				if err := r.saveInventory(r.recorder(testenv.Config(t)), before); err != nil {
					t.Fatal(err)
				}
				config, left := testenv.Dying(testenv.Config(t), survived)
				w := r.recorder(config)
				w.resource.Client = pruningClient{w.resource.Client}
				err := r.saveInventory(w, now)
				done = left.Load() > 0
				r.read(widget)
				found := widget.Status.Inventory
				if !records.Same(found, before) && !records.Same(found, now) || widget.Status.InventoryRecord != nil {
					t.Errorf("death after %d writes: want either inventory as a list, got %d items", survived, len(found))
				}
				if err == nil && !records.Same(found, now) {
					t.Errorf("death after %d writes: want the new inventory, which was said to be saved", survived)
				}
				r.forget(widget)
			}
		})
	}
}
