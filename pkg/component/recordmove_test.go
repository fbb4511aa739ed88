// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// globalRecorder is recorder for a component without a namespace, whose chunks are kept in the given one.
func (r *rig) globalRecorder(config *rest.Config, namespace string, former ...string) *worker {
	r.tb.Helper()
	w := r.recorder(config)
	w.resource.Kind, w.resource.New = testGroup.WithKind("GlobalWidget"), func() client.Object { return &GlobalWidget{} }
	w.options.StateNamespace, w.options.FormerStateNamespaces = namespace, former
	return w
}

// global creates a component without a namespace.
func (r *rig) global() *GlobalWidget {
	r.tb.Helper()
	widget := (*GlobalWidget)(r.widget(""))
	widget.Name, widget.Namespace = r.namespace, ""
	r.create(widget)
	return widget
}

// saveGlobal is saveInventory for a component without a namespace.
func (r *rig) saveGlobal(w *worker, widget *GlobalWidget, items []*reconciler.InventoryItem) error {
	r.tb.Helper()
	s := r.begin(w, widget)
	if o := s.recall(r.tb.Context()); o.Kind != outcomes.Continue || s.record.Gap() != "" {
		return fmt.Errorf("recalling the inventory: %s %s", o.Message, s.record.Gap())
	}
	return s.record.SaveInventory(r.tb.Context(), items)
}

// chunkNames are the names of all chunks in a namespace.
func (r *rig) chunkNames(namespace string) []string {
	r.tb.Helper()
	list := &corev1.ConfigMapList{}
	if err := r.client.List(r.tb.Context(), list, client.InNamespace(namespace), client.HasLabels{r.name + "/inventory-owner-id"}); err != nil {
		r.tb.Fatal(err)
	}
	names := map[string]bool{}
	for _, item := range list.Items {
		names[item.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// TestChunksFollowTheStateNamespace lets the process die after each write while chunks move to another namespace. Most of them have the
// same content, and so the same name, in both. The next process leaves nothing there:
// chunks have a finalizer, and would keep the namespace from being deleted.
func TestChunksFollowTheStateNamespace(t *testing.T) {
	t.Parallel()
	before, now, then := inventoryOf(60, "a"), inventoryOf(60, "a"), inventoryOf(60, "a")
	now[17].Digest, then[18].Digest = "b", "c"
	for _, test := range []struct {
		reason string
		// last is the inventory that the next process records; nil if it removes the component's record.
		last []*reconciler.InventoryItem
	}{
		{"another change follows", then},
		{"a small inventory follows, which needs no chunks", inventoryOf(1, "d")},
		{"the deletion follows", nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			former, namespace := testenv.Namespace(t), testenv.Namespace(t)
			for survived, done := 0, false; !done; survived++ {
				widget := r.global()
				if err := r.saveGlobal(r.globalRecorder(testenv.Config(t), former), widget, before); err != nil {
					t.Fatal(err)
				}
				config, left := dying(testenv.Config(t), survived)
				err := r.saveGlobal(r.globalRecorder(config, namespace, former), widget, now)
				if done = *left > 0; done && err != nil {
					t.Fatal(err)
				}
				heir := r.globalRecorder(testenv.Config(t), namespace, former)
				s := r.begin(heir, widget)
				if o := s.recall(t.Context()); o.Kind != outcomes.Continue || !records.Same(s.status.Inventory, before) && !records.Same(s.status.Inventory, now) {
					t.Fatalf("death after %d writes: want either inventory, got %d items, %s", survived, len(s.status.Inventory), o.Message)
				}
				if test.last != nil {
					if err := s.record.SaveInventory(t.Context(), test.last); err != nil {
						t.Fatal(err)
					}
				} else if o := s.removeRecord(t.Context()); o.Kind != outcomes.Continue {
					t.Fatal(o.Message)
				}
				var want []string
				if record := s.status.InventoryRecord; record != nil {
					want = slices.Sorted(slices.Values(record.Chunks))
				}
				if got := r.chunkNames(namespace); !slices.Equal(want, got) {
					t.Errorf("death after %d writes: want the chunks %v, got %v", survived, want, got)
				}
				if left := r.chunkNames(former); len(left) > 0 {
					t.Errorf("death after %d writes: left behind in the former namespace: %v", survived, left)
				}
				r.expungeGlobal(widget, former, namespace)
			}
		})
	}
}

// expungeGlobal removes component and chunks.
func (r *rig) expungeGlobal(widget *GlobalWidget, namespaces ...string) {
	r.tb.Helper()
	for _, namespace := range namespaces {
		for _, name := range r.chunkNames(namespace) {
			other := *r
			other.namespace = namespace
			other.lose(name)
		}
	}
	r.delete(widget)
}

// TestTheStateNamespaceIsChanged shows the same with an operator.
func TestTheStateNamespaceIsChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	former := testenv.Namespace(t)
	stop := r.startGlobal(former)
	widget := (*GlobalWidget)(r.crowded(crowd{count: 60, namespace: r.namespace}))
	widget.Name, widget.Namespace = r.namespace, ""
	r.create(widget)
	awaitReady(r, widget)
	stop()
	r.startGlobal(r.namespace, former)
	change(r, widget, func(w *GlobalWidget) { w.Spec.Objects = crowd{count: 60, changed: 30, namespace: r.namespace}.spec() })
	awaitReady(r, widget)
	testenv.Eventually(t, func() (bool, string) {
		left := r.chunkNames(former)
		return len(left) == 0, fmt.Sprintf("left behind in the former namespace: %v", left)
	})
	diff(t, "chunks", slices.Sorted(slices.Values(widget.Status.InventoryRecord.Chunks)), r.chunkNames(r.namespace))
	r.delete(widget)
	r.awaitGone(widget)
	diff(t, "what is left", []int{0, 0}, []int{len(r.chunks()), len(r.members(r.namespace))})
}

// TestDeathWhileAnOlderDefinitionDropsTheRecord lets the process die after each write by which it finds out that the definition does
// not know the record: the list must not go before.
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
				config, left := dying(testenv.Config(t), survived)
				w := r.recorder(config)
				w.resource.Client = pruningClient{w.resource.Client}
				err := r.saveInventory(w, now)
				done = *left > 0
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
