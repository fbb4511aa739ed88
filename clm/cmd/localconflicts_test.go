// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestConflictsWithoutDryRuns: the plan cannot ask the server about instances of a type whose definition it changes, too.
func TestConflictsWithoutDryRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	manifests := func(name, description string, size int) string {
		return p.file(name, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.PLACE.example.com}
spec:
  group: PLACE.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, description: %s, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}, shape: {type: string}, tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}}}}
---
apiVersion: PLACE.example.com/v1
kind: Thing
metadata: {name: one}
spec: {size: %d, color: red, shape: round, tags: [hunter2]}
`, description, size))
	}
	first := manifests("first.yaml", "first", 1)
	p.must("apply", "web", first)
	thing := func(spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": p.namespace + ".example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "one"}, "spec": spec}
	}
	spec := func() any {
		object := &unstructured.Unstructured{Object: thing(nil)}
		if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "one"}, object); err != nil {
			t.Fatal(err)
		}
		return object.Object["spec"]
	}
	// The shape has the wanted value, so it is no conflict.
	p.force("somebody", thing(map[string]any{"color": "blue", "shape": "round"}))
	second := manifests("second.yaml", "second", 2)
	for _, command := range []string{"plan", "apply"} {
		got := p.expect(p.clm(command, "web", second, "--conflicts=refuse"), exitRefused)
		want := fmt.Sprintf("Error: Thing.%[1]s.example.com %[1]s/one: .spec.color belongs to somebody\n"+
			"fields with other values belong to other field managers; to take them over: --conflicts=force; to take over only those that the manifest changes: --conflicts=keep\n", p.namespace)
		if diff := cmp.Diff(want, got.stderr); diff != "" {
			t.Errorf("clm %s (-want +got):\n%s", command, diff)
		}
	}
	p.must("apply", "web", second, "--conflicts=keep")
	if diff := cmp.Diff(map[string]any{"size": int64(2), "color": "blue", "shape": "round", "tags": []any{"hunter2"}}, spec()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	p.must("plan", "web", manifests("third.yaml", "third", 2), "--conflicts=refuse")
	p.must("apply", "web", manifests("third.yaml", "third", 2), "--conflicts=refuse")
	p.must("apply", "web", second, "--conflicts=force")
	if diff := cmp.Diff(map[string]any{"size": int64(2), "color": "red", "shape": "round", "tags": []any{"hunter2"}}, spec()); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	// An item of a set is a value. It is shown in diffs only.
	p.as("kubectl-edit", schema.GroupVersionKind{Group: p.namespace + ".example.com", Version: "v1", Kind: "Thing"}, "one", `{"spec": {"tags": []}}`)
	if got := p.must("drift", "web").stdout; !strings.Contains(got, ".spec.tags[=***]") {
		t.Errorf("got %s", got)
	}
	p.must("delete", "web")
}
