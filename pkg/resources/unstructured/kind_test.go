// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func object(content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: content}
}

// sample returns a widget with a spec.
func sample(spec map[string]any) *unstructured.Unstructured {
	return object(map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": "sample"}, "spec": spec})
}

// phase returns a widget with a phase.
func phase(phase string) *unstructured.Unstructured {
	widget := sample(nil)
	widget.Object["status"] = map[string]any{"phase": phase}
	return widget
}

// judging returns a function that takes the status from the phase.
func judging[S any](by func(status, reason string) S) func(concepts.ConvergingOperation, *unstructured.Unstructured) (S, error) {
	return func(op concepts.ConvergingOperation, widget *unstructured.Unstructured) (S, error) {
		found, _, err := unstructured.NestedString(widget.Object, "status", "phase")
		return by(found, "after "+string(op)), err
	}
}

func alive(status, reason string) concepts.AliveStatusWithReason {
	return resourcestest.Alive(concepts.AliveConvergingStatus(status), reason)
}

func completion(status, reason string) concepts.CompletionStatusWithReason {
	return resourcestest.Completion(concepts.CompletionStatus(status), reason)
}

func operational(status, reason string) concepts.OperationalStatusWithReason {
	return resourcestest.Operational(concepts.OperationalStatus(status), reason)
}

// statuses returns the same status after each operation.
func statuses[S any](by func(status, reason string) S, status string) map[concepts.ConvergingOperation]S {
	return map[concepts.ConvergingOperation]S{"Created": by(status, "after Created"), "Updated": by(status, "after Updated"), "None": by(status, "after None")}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	healthy, degraded, down := resourcestest.Grace("Healthy", "after None"), resourcestest.Grace("Degraded", "after None"), resourcestest.Grace("Down", "after None")
	resourcestest.CheckApplied(t, NewBuilder(sample(nil)))

	workload := NewWorkloadBuilder(sample(nil), judging(alive))
	resourcestest.CheckStates(t, workload, []resourcestest.State[*unstructured.Unstructured, concepts.AliveStatusWithReason]{
		{Why: "a workload that is ready", Object: phase("Healthy"), After: statuses(alive, "Healthy"), Grace: healthy},
		{Why: "a workload on its way", Object: phase("Scaling"), After: statuses(alive, "Scaling"), Grace: degraded},
		{Why: "a workload that fails", Object: phase("Failing"), After: statuses(alive, "Failing"), Grace: down},
	})
	resourcestest.CheckNoSuspension(t, workload)

	task := NewTaskBuilder(sample(nil), judging(completion))
	resourcestest.CheckStates(t, task, []resourcestest.State[*unstructured.Unstructured, concepts.CompletionStatusWithReason]{
		{Why: "a task that is done", Object: phase("Completed"), After: statuses(completion, "Completed"), Grace: healthy},
		{Why: "a task that runs", Object: phase("TaskRunning"), After: statuses(completion, "TaskRunning"), Grace: degraded},
		{Why: "a task that fails", Object: phase("TaskFailing"), After: statuses(completion, "TaskFailing"), Grace: down},
	})
	resourcestest.CheckNoSuspension(t, task)

	integration := NewIntegrationBuilder(sample(nil), judging(operational))
	resourcestest.CheckStates(t, integration, []resourcestest.State[*unstructured.Unstructured, concepts.OperationalStatusWithReason]{
		{Why: "an integration that works", Object: phase("Operational"), After: statuses(operational, "Operational"), Grace: healthy},
		{Why: "an integration on its way", Object: phase("OperationPending"), After: statuses(operational, "OperationPending"), Grace: degraded},
		{Why: "an integration that fails", Object: phase("OperationFailing"), After: statuses(operational, "OperationFailing"), Grace: down},
	})
	resourcestest.CheckNoSuspension(t, integration)
}

func TestSuspension(t *testing.T) {
	t.Parallel()
	stop := func(m *Mutator) error {
		m.EditContent(func(e *editors.UnstructuredContentEditor) error { return e.SetNestedBool(true, "spec", "stopped") })
		return nil
	}
	resourcestest.CheckSuspension(t, NewBuilder(sample(nil)).WithCustomSuspendMutation(stop), resourcestest.Suspension[*unstructured.Unstructured]{
		Change: func(widget *unstructured.Unstructured) { widget.Object["spec"] = map[string]any{"stopped": true} },
		States: []resourcestest.SuspensionState[*unstructured.Unstructured]{{Why: "it is suspended when that is applied", Object: phase("any"), Want: resourcestest.Suspended("")}},
	})
	remove := func(*unstructured.Unstructured) bool { return true }
	resourcestest.CheckSuspension(t, NewBuilder(sample(nil)).WithCustomSuspendDeletionDecision(remove), resourcestest.Suspension[*unstructured.Unstructured]{Deletes: true})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample(nil))
	m.EditObjectMetadata(nil)
	m.EditContent(nil)
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("content", m.EditContent))

	labelled := func(metadata map[string]any) *unstructured.Unstructured {
		return object(map[string]any{"metadata": metadata})
	}
	metadata := func(edit func(e *editors.ObjectMetaEditor)) func(*Mutator) {
		return func(m *Mutator) {
			m.EditObjectMetadata(func(e *editors.ObjectMetaEditor) error { edit(e); return nil })
		}
	}
	failure := errors.New("no")
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*unstructured.Unstructured, *Mutator]{
		{
			Why: "labels and annotations are added", Start: labelled(map[string]any{"labels": map[string]any{"a": "1"}}),
			Record: metadata(func(e *editors.ObjectMetaEditor) { e.EnsureLabel("b", "2"); e.EnsureAnnotation("c", "3") }),
			Want:   labelled(map[string]any{"labels": map[string]any{"a": "1", "b": "2"}, "annotations": map[string]any{"c": "3"}}),
		},
		{
			Why: "the last label and annotation are removed", Start: labelled(map[string]any{"labels": map[string]any{"a": "1"}, "annotations": map[string]any{"c": "3"}}),
			Record: metadata(func(e *editors.ObjectMetaEditor) { e.RemoveLabel("a"); e.RemoveAnnotation("c") }), Want: labelled(map[string]any{}),
		},
		{
			Why: "labels and annotations that are not there are not removed", Start: sample(nil),
			Record: metadata(func(e *editors.ObjectMetaEditor) { e.RemoveLabel("a"); e.RemoveAnnotation("c") }), Want: sample(nil),
		},
		{
			Why: "the edit knows name and namespace", Start: labelled(map[string]any{"name": "sample", "namespace": "default"}),
			Record: metadata(func(e *editors.ObjectMetaEditor) { e.EnsureLabel("is", e.Raw().Namespace+"."+e.Raw().Name) }),
			Want:   labelled(map[string]any{"name": "sample", "namespace": "default", "labels": map[string]any{"is": "default.sample"}}),
		},
		{Why: "the name is not changed", Start: sample(nil), Record: metadata(func(e *editors.ObjectMetaEditor) { e.Raw().Name = "other" }), Says: []string{"only labels and annotations"}},
		{
			Why: "finalizers are not changed", Start: sample(nil), Record: metadata(func(e *editors.ObjectMetaEditor) { e.Raw().Finalizers = []string{"example.com/a"} }),
			Says: []string{"object metadata: ", "use EditContent"},
		},
		{Why: "labels must be texts", Start: labelled(map[string]any{"labels": map[string]any{"a": int64(1)}}), Record: metadata(func(*editors.ObjectMetaEditor) {}), Says: []string{"metadata.labels"}},
		{Why: "annotations must be a map", Start: labelled(map[string]any{"annotations": "a"}), Record: metadata(func(*editors.ObjectMetaEditor) {}), Says: []string{"metadata.annotations"}},
		{
			Why: "an edit of metadata fails", Start: sample(nil), Record: func(m *Mutator) { m.EditObjectMetadata(func(*editors.ObjectMetaEditor) error { return failure }) },
			Says: []string{"object metadata: no"},
		},
		{
			Why: "a field is set", Start: sample(map[string]any{"size": int64(1)}),
			Record: func(m *Mutator) {
				m.EditContent(func(e *editors.UnstructuredContentEditor) error { return e.SetNestedInt64(2, "spec", "size") })
			}, Want: sample(map[string]any{"size": int64(2)}),
		},
		{
			Why: "fields that are set otherwise get types that can be copied", Start: sample(nil),
			Record: func(m *Mutator) {
				m.EditContent(func(e *editors.UnstructuredContentEditor) error {
					e.Raw()["spec"] = map[string]any{"size": 2, "tags": []string{"a"}}
					return nil
				})
			}, Want: sample(map[string]any{"size": int64(2), "tags": []any{"a"}}),
		},
		{
			Why: "an object gets its first field", Start: &unstructured.Unstructured{},
			Record: func(m *Mutator) {
				m.EditContent(func(e *editors.UnstructuredContentEditor) error { return e.SetNestedString("Widget", "kind") })
			}, Want: object(map[string]any{"kind": "Widget"}),
		},
		{
			Why: "a field has no JSON form", Start: sample(nil),
			Record: func(m *Mutator) {
				m.EditContent(func(e *editors.UnstructuredContentEditor) error { e.Raw()["spec"] = func() {}; return nil })
			}, Says: []string{"content: ", "spec", "no JSON form"},
		},
		{
			Why: "an edit of content fails", Start: sample(nil), Record: func(m *Mutator) { m.EditContent(func(*editors.UnstructuredContentEditor) error { return failure }) },
			Says: []string{"content: no"},
		},
	})
}

func TestBuild(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why  string
		edit func(content map[string]any)
		says []string
	}{
		{"no apiVersion", func(content map[string]any) { delete(content, "apiVersion") }, []string{"apiVersion must not be empty"}},
		{"no kind", func(content map[string]any) { delete(content, "kind") }, []string{"kind must not be empty"}},
		{"an apiVersion that is none", func(content map[string]any) { content["apiVersion"] = "a/b/c" }, []string{"apiVersion: ", "a/b/c", "must be"}},
		{"no name", func(content map[string]any) { delete(content, "metadata") }, []string{"metadata.name must not be empty"}},
		{"all that is wrong", func(content map[string]any) { clear(content) }, []string{"apiVersion must not be empty", "kind must not be empty", "metadata.name must not be empty"}},
		{"a value that has no JSON form", func(content map[string]any) { content["spec"] = map[string]any{"size": func() {}} }, []string{"spec.size", "no JSON form"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			widget := sample(nil)
			row.edit(widget.Object)
			_, err := NewBuilder(widget).Build()
			resourcestest.ExpectError(t, err, row.says...)
		})
	}
	_, err := NewBuilder(nil).Build()
	resourcestest.ExpectError(t, err, "object must not be nil")
	_, err = NewWorkloadBuilder(sample(nil), nil).Build()
	resourcestest.ExpectError(t, err, "a function is required")
	_, err = NewTaskBuilder(sample(nil), nil).Build()
	resourcestest.ExpectError(t, err, "a function is required")
	_, err = NewIntegrationBuilder(sample(nil), nil).Build()
	resourcestest.ExpectError(t, err, "a function is required")
}

func TestScopeIsNotKnown(t *testing.T) {
	t.Parallel()
	clusterScoped := sample(nil)
	clusterScoped.SetNamespace("")
	for want, widget := range map[string]*unstructured.Unstructured{"example.com/v1/Widget/default/sample": sample(nil), "example.com/v1/Widget/sample": clusterScoped} {
		resource, err := NewBuilder(widget).Build()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, resource.Identity()); diff != "" {
			t.Errorf("unexpected identity (-want +got):\n%s", diff)
		}
	}
}

func TestObjectIsCopiedAtOnce(t *testing.T) {
	t.Parallel()
	given := sample(map[string]any{"size": 1, "tags": []string{"a"}})
	builder := NewBuilder(given)
	given.SetName("other")
	resource, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := resource.Object()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(map[string]any{"size": int64(1), "tags": []any{"a"}}), got); diff != "" {
		t.Errorf("unexpected object (-want +got):\n%s", diff)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	sized := func(name string, size int64) Mutation {
		return Mutation{Name: name, Mutate: func(m *Mutator) error {
			m.EditContent(func(e *editors.UnstructuredContentEditor) error { return e.SetNestedInt64(size, "spec", "size") })
			return nil
		}}
	}
	resource, err := NewBuilder(sample(nil)).WithMutation(sized("small", 1)).Build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := resource.PreviewObject()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(map[string]any{"size": int64(1)}), got); diff != "" {
		t.Errorf("unexpected object (-want +got):\n%s", diff)
	}

	contradictory, err := NewBuilder(sample(nil)).WithMutation(sized("small", 1), sized("large", 2)).Build()
	if err != nil {
		t.Fatal(err)
	}
	_, err = contradictory.PreviewObject()
	resourcestest.ExpectError(t, err, `"small" and "large" both write .spec.size`)
}
