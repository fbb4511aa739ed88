// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestWholeObjects keeps the objects that an owner needs, and no others, and notifies it of each change of them, also
// one that changes no verdict.
func TestWholeObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ingresses := schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
	create := func(name string) *unstructured.Unstructured {
		object := testenv.Object(t, "{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}")
		object.SetName(name)
		object.SetNamespace(w.namespace)
		object.SetLabels(map[string]string{w.label: "o"})
		if err := w.client.Create(t.Context(), object, client.FieldOwner(us)); err != nil {
			t.Fatal(err)
		}
		return object
	}
	whole, other := create("whole"), create("other")
	answer := func(object *unstructured.Unstructured, host string) {
		patch := `{"status":{"loadBalancer":{"ingress":[{"hostname":"` + host + `"}]}}}`
		if err := w.client.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(name string) *unstructured.Unstructured {
		seen, view := w.cache.Get(ingresses, w.namespace, name)
		if view != observe.Present {
			t.Fatalf("%s is not observed", name)
		}
		return seen.Object
	}
	needed := need(ingresses, w.namespace)
	needed.Whole = []types.NamespacedName{{Namespace: w.namespace, Name: "whole"}}
	w.watch("o", needed, need(configMaps, w.namespace))
	if kept("other") != nil {
		t.Error("an object is kept that nobody needs")
	}

	before := w.count("o")
	answer(whole, "a")
	w.awaitNews("o", before)
	object := kept("whole")
	if host, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress"); len(host) != 1 || object.GetManagedFields() != nil {
		t.Errorf("expected the object with its status and without managedFields, got %v", object)
	}

	before = w.count("o")
	answer(other, "a")
	answer(other, "b")
	awaitVersion := func(object *unstructured.Unstructured) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) {
			seen, _ := w.cache.Get(ingresses, w.namespace, object.GetName())
			return seen.ResourceVersion == object.GetResourceVersion(), "the change was not observed"
		})
	}
	awaitVersion(other)
	if after := w.count("o"); after != before {
		t.Errorf("a change of another object has led to %d notifications", after-before)
	}

	w.watch("o", need(ingresses, w.namespace), need(configMaps, w.namespace))
	answer(whole, "c")
	awaitVersion(whole)
	if kept("whole") != nil {
		t.Error("an object is kept that nobody needs any more")
	}
}
