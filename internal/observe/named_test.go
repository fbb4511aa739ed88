// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestNames watches an object without our label for two owners, by its name, until neither needs it any more.
func TestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := observe.Name{GroupVersionKind: configMaps, Namespace: w.namespace, Name: "theirs"}
	for _, owner := range []string{"a", "b"} {
		if err := w.cache.WatchNames(t.Context(), owner, []observe.Name{name}); err != nil {
			t.Fatal(err)
		}
	}
	if _, view := w.cache.Version(name); view != observe.Absent {
		t.Fatalf("want the object to be absent, got %d", view)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(configMaps)
	object.SetNamespace(w.namespace)
	object.SetName("theirs")
	other := object.DeepCopy()
	other.SetName("other")
	for _, created := range []*unstructured.Unstructured{other, object} {
		if err := w.client.Create(t.Context(), created); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitNews("a", 0)
	w.awaitNews("b", 0)
	if version, view := w.cache.Version(name); view != observe.Present || version != object.GetResourceVersion() {
		t.Errorf("got version %q, want %q", version, object.GetResourceVersion())
	}

	if err := w.cache.WatchNames(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	forA, forB := w.count("a"), w.count("b")
	if err := w.client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	w.awaitNews("b", forB)
	if _, view := w.cache.Version(name); view != observe.Absent || w.count("a") != forA {
		t.Errorf("want only b to be told that the object is gone, got view %d", view)
	}
	if err := w.cache.WatchNames(t.Context(), "b", nil); err != nil {
		t.Fatal(err)
	}
	if _, view := w.cache.Version(name); view != observe.Unseen {
		t.Errorf("want the watch to end, got view %d", view)
	}
	watches := w.requests.Count(func(r testenv.Request) bool { return strings.HasSuffix(r.Path, "/configmaps") && !r.IsWrite() })
	if watches != 1 {
		t.Errorf("want one watch of one object, got %v", w.requests)
	}
}
