// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/testenv"
)

// defineWidgets defines a type that no other test has instances of.
func (w *world) defineWidgets() schema.GroupVersionResource {
	w.Helper()
	return w.defineWidgetsOf(testenv.UniqueName(w) + ".example.com")
}

func (w *world) defineWidgetsOf(group string) schema.GroupVersionResource {
	w.Helper()
	resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
	crd := testenv.Object(w, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.`+resource.Group+`}
spec:
  group: `+resource.Group+`
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
	if err := w.client.Create(w.Context(), crd); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(w.Context()), crd) })
	return resource
}

// widget creates an instance without an owner.
func (w *world) widget(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.Helper()
	widget := testenv.Object(w, "{apiVersion: "+resource.GroupVersion().String()+", kind: Widget, metadata: {name: "+name+"}}")
	widget.SetNamespace(w.namespace)
	testenv.Eventually(w, func() (bool, string) {
		object := widget.DeepCopy()
		if err := w.client.Create(w.Context(), object); err != nil {
			return false, err.Error() // the type is served some time after it is defined
		}
		widget = object
		return true, ""
	})
	return widget
}

func TestGuard(t *testing.T) {
	t.Parallel()
	watches := &streams{resource: "widgets"}
	w := newWorld(t, watches.through)
	resource := w.defineWidgets()
	foreign, meanwhile, adopted, late := w.widget(resource, "foreign"), w.widget(resource, "meanwhile"), w.widget(resource, "adopted"), w.widget(resource, "late")

	w.cache.Guard("o", []schema.GroupVersionResource{resource})
	w.awaitNews("o", 0) // instances may have gone since it looked
	for _, step := range []struct {
		reason string
		change func()
	}{
		{"an instance goes", func() { w.remove(foreign) }},
		{"an instance is adopted", func() { w.patch(adopted, `{"metadata":{"labels":{"`+w.label+`":"o"}}}`) }},
		{"an instance goes while nobody watches, because the server has ended the watch", func() {
			watches.expire(t)
			w.remove(meanwhile)
		}},
		{"the new watch lasts", func() { w.remove(late) }},
	} {
		before := w.count("o")
		step.change()
		testenv.Eventually(t, func() (bool, string) { return w.count("o") > before, step.reason + ": not notified" })
	}
	w.cache.Guard("o", nil)
	w.cache.Guard("unknown", nil)
	watches.awaitNone(t)
}

func TestGuardsShareTheirWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	resource := w.defineWidgets()
	foreign := w.widget(resource, "foreign")
	w.cache.Guard("o", []schema.GroupVersionResource{resource})
	w.awaitNews("o", 0)
	w.cache.Guard("o", []schema.GroupVersionResource{resource})
	w.cache.Guard("o", []schema.GroupVersionResource{resource, resource})
	w.cache.Guard("p", []schema.GroupVersionResource{resource})
	w.cache.Guard("q", []schema.GroupVersionResource{resource})
	w.cache.Guard("q", nil) // the others go on waiting
	before := map[string]int{"o": w.count("o"), "p": w.count("p")}
	w.remove(foreign)
	for owner, count := range before {
		w.awaitNews(owner, count)
	}
	w.cache.Guard("r", []schema.GroupVersionResource{resource})
	w.awaitNews("r", 0) // what it would wait for is over
	if watches, _ := w.watches("widgets"); watches != 1 {
		t.Errorf("a repeated guard, or that of another owner, must not start another watch:\n%s", w.requests)
	}
	if got := w.count("q"); got != 0 {
		t.Errorf("who does not wait any more was notified %d times", got)
	}
}

// TestGuardsSpaceOutNotifications has instances go while others remain, and the last one in the end.
func TestGuardsSpaceOutNotifications(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	resource := w.defineWidgets()
	last := w.widget(resource, "last")
	w.patch(w.widget(resource, "own"), `{"metadata":{"labels":{"`+w.label+`":"o"}}}`)
	w.cache.Guard("o", []schema.GroupVersionResource{resource})
	w.awaitNews("o", 0)
	before := w.count("o")
	const many = 50
	for i := range many {
		w.remove(w.widget(resource, fmt.Sprint("short-lived-", i)))
	}
	w.cache.Guard("sentinel", []schema.GroupVersionResource{resource})
	w.patch(last, `{"metadata":{"labels":{"`+w.label+`":"sentinel"}}}`)
	w.awaitNews("sentinel", 0) // so that all earlier events have come
	if got := w.count("o") - before; got > many/5 {
		t.Errorf("notified %d times, although there were always instances", got)
	}
	before = w.count("o")
	w.remove(last)
	w.awaitNews("o", before)
}

// TestGuardWithoutWatch has no watch report deleted instances.
func TestGuardWithoutWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cache.Guard("o", []schema.GroupVersionResource{{Group: "none.example.com", Version: "v1", Resource: "nones"}})
	w.awaitNews("o", 1) // again and again
}
