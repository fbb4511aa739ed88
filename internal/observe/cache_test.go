// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

func TestNewNeedsItsOptions(t *testing.T) {
	t.Parallel()
	if _, err := observe.New(observe.Options{}); err == nil {
		t.Error("expected an error")
	}
}

func TestSynchronises(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	existing := w.reader.Read(w.write("o", "a", "1"))
	if _, view := w.get("a"); view != observe.Unseen {
		t.Errorf("what is not watched is unseen, got %v", view)
	}
	w.cache.Record(configMaps, w.namespace, "a", existing) // of no use, and no harm
	w.watch("o", need(configMaps, w.namespace))
	seen, view := w.get("a")
	if view != observe.Present || seen != existing {
		t.Errorf("got %+v, %v, want %+v", seen, view, existing)
	}
	if _, view := w.get("b"); view != observe.Absent {
		t.Errorf("once watched, what is not there is absent, got %v", view)
	}
	if _, view := w.cache.Get(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, w.namespace, "a"); view != observe.Unseen {
		t.Errorf("other kinds are not watched, got %v", view)
	}
	unlabelled := &corev1.ConfigMap{}
	unlabelled.Name, unlabelled.Namespace = "c", w.namespace
	if err := w.client.Create(t.Context(), unlabelled); err != nil {
		t.Fatal(err)
	}
	w.quiet()
	if _, view := w.get("c"); view != observe.Absent {
		t.Errorf("what does not carry our label is absent, got %v", view)
	}
	if modes := w.cache.Modes(); len(modes) != 1 || modes[0] != "ConfigMap: watched in the whole cluster" {
		t.Errorf("modes: %v", modes)
	}
}

func TestNotifies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch("o", need(configMaps, w.namespace))
	for _, tc := range []struct {
		reason string
		change func(*corev1.ConfigMap)
		view   observe.View
		owners []string
	}{
		{"data", func(object *corev1.ConfigMap) { w.patch(object, `{"data":{"value":"2"}}`) }, observe.Present, []string{"o"}},
		{"a foreign label of a kind without generation", func(object *corev1.ConfigMap) { w.patch(object, `{"metadata":{"labels":{"x":"y"}}}`) }, observe.Present, []string{"o"}},
		{"deletion", func(object *corev1.ConfigMap) { w.remove(object) }, observe.Absent, []string{"o"}},
		{"our label is gone", func(object *corev1.ConfigMap) { w.patch(object, `{"metadata":{"labels":{"`+w.label+`":null}}}`) }, observe.Absent, []string{"o"}},
		{"another owner: both are told", func(object *corev1.ConfigMap) { w.patch(object, `{"metadata":{"labels":{"`+w.label+`":"p"}}}`) }, observe.Present, []string{"o", "p"}},
		{"a deletion that waits for a finalizer", func(object *corev1.ConfigMap) {
			w.patch(object, `{"metadata":{"finalizers":["example.com/x"]}}`)
			w.remove(object)
			w.Cleanup(func() {
				_ = w.client.Patch(context.WithoutCancel(w.Context()), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			})
		}, observe.Present, []string{"o"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			name := strings.ToLower(strings.NewReplacer(" ", "-", ":", "").Replace(tc.reason))
			w.written("o", name, "1")
			w.quiet()
			before := map[string]int{}
			for _, owner := range tc.owners {
				before[owner] = w.count(owner)
			}
			object := &corev1.ConfigMap{}
			object.Name, object.Namespace = name, w.namespace
			tc.change(object)
			for _, owner := range tc.owners {
				w.awaitNews(owner, before[owner])
			}
			w.quiet()
			if _, view := w.get(name); view != tc.view {
				t.Errorf("got %v, want %v", view, tc.view)
			}
		})
	}
	if w.count("") != 0 {
		t.Error("nobody must not be notified")
	}
}

// TestOwnWrites: the event often arrives before the response, so that a notification cannot be ruled out here; that there is none
// otherwise is shown with the store alone.
func TestOwnWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch("o", need(configMaps, w.namespace))
	first := w.written("o", "a", "1")
	w.quiet()
	if seen, view := w.get("a"); view != observe.Present || seen != first {
		t.Fatalf("got %+v, %v", seen, view)
	}
	before := w.count("o")
	object := w.write("o", "a", "2")
	ours := w.reader.Read(object)
	w.cache.Record(configMaps, w.namespace, "a", ours)
	w.quiet()
	if seen, _ := w.get("a"); seen != ours {
		t.Errorf("got %+v, want %+v", seen, ours)
	}
	if got := w.count("o") - before; got > 1 {
		t.Errorf("one write must lead to one notification at most, got %d", got)
	}
	before = w.count("o")
	w.patch(object, `{"data":{"value":"3"}}`)
	w.awaitNews("o", before)
}

func TestOwnWriteCountsUntilTheCacheIsNewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch("o", need(configMaps, w.namespace))
	old := w.written("o", "a", "1")
	w.quiet()
	future := old
	future.ResourceVersion, future.Fingerprint = old.ResourceVersion+"0000", "future"
	w.cache.Record(configMaps, w.namespace, "a", future)
	if seen, _ := w.get("a"); seen != future {
		t.Errorf("our write is newer than the cache, got %+v", seen)
	}
	w.quiet()
	if seen, _ := w.get("a"); seen != future {
		t.Errorf("events about others do not change that, got %+v", seen)
	}
	past := old
	past.ResourceVersion, past.Fingerprint = "1", "past"
	w.cache.Record(configMaps, w.namespace, "b", past)
	if _, view := w.get("b"); view != observe.Absent {
		t.Errorf("a write that the cache has outlived is gone, got %v", view)
	}
	w.written("o", "c", "1")
	newer := w.reader.Read(w.write("o", "c", "2"))
	w.quiet()
	w.cache.Record(configMaps, w.namespace, "c", past)
	if seen, view := w.get("c"); view != observe.Present || seen != newer {
		t.Errorf("a late response must not hide what was seen since, got %+v, %v", seen, view)
	}
}

func TestDeletionAfterOwnWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch("o", need(configMaps, w.namespace))
	for i := range 20 {
		name := fmt.Sprintf("a%d", i)
		object := w.write("o", name, "1")
		if i%2 == 0 {
			w.remove(object)
		}
		w.cache.Record(configMaps, w.namespace, name, w.reader.Read(object))
		if i%2 == 1 {
			w.remove(object)
		}
	}
	w.quiet()
	for i := range 20 {
		if _, view := w.get(fmt.Sprintf("a%d", i)); view != observe.Absent {
			t.Errorf("%d: got %v", i, view)
		}
	}
}

func TestSharedWatchesEndWithTheLastOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secrets := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	for i := range 5 {
		w.watch(fmt.Sprint("o", i), need(configMaps, w.namespace), need(secrets, w.namespace))
	}
	for range 5 {
		w.watch("o0", need(configMaps, w.namespace), need(secrets, w.namespace))
	}
	for _, resource := range []string{"configmaps", "secrets"} {
		if watches, lists := w.watches(resource); watches != 1 || lists > 1 {
			t.Errorf("%s: expected one watch for all owners, got\n%s", resource, w.requests)
		}
	}
	for i := range 4 {
		w.watch(fmt.Sprint("o", i), need(configMaps, w.namespace))
	}
	if len(w.cache.Modes()) != 2 {
		t.Errorf("one owner still needs both, got %v", w.cache.Modes())
	}
	w.watch("o4", need(configMaps, w.namespace))
	if _, view := w.cache.Get(secrets, w.namespace, "x"); view != observe.Unseen {
		t.Errorf("the last owner has dropped it, got %v", view)
	}
	w.watch("unknown")
	for i := range 5 {
		w.watch(fmt.Sprint("o", i))
	}
	if len(w.cache.Modes()) != 0 {
		t.Errorf("nobody needs anything, got %v", w.cache.Modes())
	}
	before := w.count("o0")
	w.write("o0", "a", "1")
	w.watch("o1", need(configMaps, w.namespace))
	if _, view := w.get("a"); view != observe.Present {
		t.Errorf("watched again, got %v", view)
	}
	if w.count("o0") > before+1 {
		t.Errorf("the old watch lives on: %d notifications", w.count("o0")-before)
	}
}

func TestKindServedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := testenv.UniqueName(t) + ".example.com"
	kind := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"}
	w.watch("o", need(kind, w.namespace))
	if _, view := w.cache.Get(kind, w.namespace, "a"); view != observe.Unseen {
		t.Errorf("got %v", view)
	}
	if modes := strings.Join(w.cache.Modes(), ""); !strings.HasPrefix(modes, "Widget."+group+": read one by one (") {
		t.Errorf("modes: %s", modes)
	}
	crd := testenv.Object(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.`+group+`}
spec:
  group: `+group+`
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
	if err := w.client.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(t.Context()), crd) })
	testenv.Eventually(t, func() (bool, string) {
		_, view := w.cache.Get(kind, w.namespace, "a")
		return view == observe.Absent, "not watched yet"
	})
	widget := testenv.Object(t, "{apiVersion: "+group+"/v1, kind: Widget, metadata: {name: a}}")
	widget.SetNamespace(w.namespace)
	widget.SetLabels(map[string]string{w.label: "o"})
	if err := w.client.Create(t.Context(), widget); err != nil {
		t.Fatal(err)
	}
	w.awaitNews("o", 0)
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("because")
	cancel(reason)
	if err := w.cache.Watch(ctx, "o", []observe.Need{need(configMaps)}); err != nil && !errors.Is(err, reason) {
		t.Errorf("expected the cause, got %v", err)
	}
	w.cache.Close()
	ctx, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()
	if err := w.cache.Watch(ctx, "p", []observe.Need{need(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})}); err != nil {
		t.Errorf("after the end nothing is awaited, got %v", err)
	}
	w.cache.Close()
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			owner := fmt.Sprint("o", worker)
			for i := range 10 {
				name := fmt.Sprintf("%s-%d", owner, i%3)
				if err := w.cache.Watch(t.Context(), owner, []observe.Need{need(configMaps, w.namespace)}); err != nil {
					t.Error(err)
				}
				object := w.write(owner, name, fmt.Sprint(i))
				w.cache.Record(configMaps, w.namespace, name, w.reader.Read(object))
				w.cache.Get(configMaps, w.namespace, name)
				w.cache.Modes()
				w.cache.Guard(owner, []schema.GroupVersionResource{{Version: "v1", Resource: "configmaps"}})
				if i%4 == 3 {
					_ = w.cache.Watch(t.Context(), owner, nil)
					w.cache.Guard(owner, nil)
				}
			}
		})
	}
	group.Wait()
}
