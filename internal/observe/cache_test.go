// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
)

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
