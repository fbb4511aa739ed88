// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
)

// sample returns a widget with a spec.
func sample(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": "sample"}, "spec": spec,
	}}
}

func expectError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %q", err, text)
	}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	static, err := NewBuilder(sample(nil)).Build()
	if err != nil || static.Registration().Judged || static.Registration().Suspendable {
		t.Errorf("the judge of the component decides about an object without a handler: %v", err)
	}
	scaling := func(concepts.ConvergingOperation, *unstructured.Unstructured) (concepts.AliveStatusWithReason, error) {
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusScaling, Reason: "2 of 3"}, nil
	}
	workload, err := NewWorkloadBuilder(sample(nil), scaling).Build()
	if err != nil || !workload.Registration().Judged || workload.Registration().Suspendable {
		t.Fatalf("the handler decides: %v", err)
	}
	status, err := workload.ConvergingStatus(concepts.ConvergingOperationNone)
	if err != nil {
		t.Fatal(err)
	}
	grace, err := workload.GraceStatus()
	if err != nil || status != (concepts.AliveStatusWithReason{Status: "Scaling", Reason: "2 of 3"}) || grace.Status != concepts.GraceStatusDegraded {
		t.Errorf("got %v, %v, %v", status, grace, err)
	}
}

func TestMutator(t *testing.T) {
	t.Parallel()
	widget := sample(map[string]any{"size": int64(1)})
	m := NewMutator(widget)
	m.EditObjectMetadata(nil)
	m.EditContent(nil)
	m.EditContent(func(e *editors.UnstructuredContentEditor) error {
		e.Raw()["spec"] = map[string]any{"size": 2, "tags": []string{e.Raw()["metadata"].(map[string]any)["labels"].(map[string]any)["a"].(string)}}
		return nil
	})
	m.EditObjectMetadata(func(e *editors.ObjectMetaEditor) error { e.EnsureLabel("a", e.Raw().Name); return nil })
	if err := m.Apply(); err != nil {
		t.Fatal(err)
	}
	want := sample(map[string]any{"size": int64(2), "tags": []any{"sample"}})
	want.SetLabels(map[string]string{"a": "sample"})
	if diff := cmp.Diff(want, widget); diff != "" {
		t.Errorf("metadata comes first, and values get the types of JSON (-want +got):\n%s", diff)
	}
	m.EditContent(func(e *editors.UnstructuredContentEditor) error { e.Raw()["spec"] = func() {}; return nil })
	expectError(t, m.Apply(), "no JSON form")
}

func TestBuild(t *testing.T) {
	t.Parallel()
	given := sample(map[string]any{"size": 1})
	builder := NewBuilder(given)
	given.SetName("other")
	resource, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := resource.Object(); err != nil || cmp.Diff(sample(map[string]any{"size": int64(1)}), got) != "" {
		t.Errorf("the object is copied at once, with the types of JSON: %v, %v", got, err)
	}
	clusterScoped := sample(nil)
	clusterScoped.SetNamespace("")
	if resource, err := NewBuilder(clusterScoped).Build(); err != nil || resource.Identity() != "example.com/v1/Widget/sample" {
		t.Errorf("the scope is not known: %v", err)
	}
	for text, change := range map[string]func(content map[string]any){
		"apiVersion must not be empty":    func(content map[string]any) { delete(content, "apiVersion") },
		"kind must not be empty":          func(content map[string]any) { delete(content, "kind") },
		"must be a version, or a group":   func(content map[string]any) { content["apiVersion"] = "a/b/c" },
		"metadata.name must not be empty": func(content map[string]any) { delete(content, "metadata") },
		"no JSON form":                    func(content map[string]any) { content["spec"] = map[string]any{"size": func() {}} },
	} {
		widget := sample(nil)
		change(widget.Object)
		_, err := NewBuilder(widget).Build()
		expectError(t, err, text)
	}
	_, err = NewBuilder(nil).Build()
	expectError(t, err, "object must not be nil")
	_, err = NewTaskBuilder(sample(nil), nil).Build()
	expectError(t, err, "a function is required")
}
