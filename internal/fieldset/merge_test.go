// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
)

// TestMerge compares with what the server makes of the same apply.
func TestMerge(t *testing.T) {
	t.Parallel()
	set := func(value any, fields ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, value, fields...) }
	}
	container := func(content map[string]any) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(o.Object, []any{content}, "spec", "template", "spec", "containers")
		}
	}
	for _, tc := range []struct {
		reason string
		before func(*subject)
		next   func(*unstructured.Unstructured)
	}{
		{"a label that is no longer declared", func(*subject) {}, set(map[string]any{"other": "1"}, "metadata", "labels")},
		{"a field that others own as well stays", func(s *subject) { s.them(`metadata: {labels: {mine: "1"}}`) }, set(map[string]any{"other": "1"}, "metadata", "labels")},
		{"a sidecar of others stays", func(s *subject) {
			s.patch(types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"x"}]}}}}`)
		}, container(map[string]any{"name": "main", "image": "two"})},
		{"a variable goes, one of others stays", func(s *subject) {
			s.patch(types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"B","value":"2"}]}]}}}}`)
		}, container(map[string]any{"name": "main", "image": "one", "command": []any{"a", "b"}})},
		{"a list that is one value", func(*subject) {}, container(map[string]any{
			"name": "main", "image": "one", "command": []any{"c"}, "env": []any{map[string]any{"name": "A", "value": "1"}},
		})},
		{"a set", func(s *subject) {
			s.patch(types.JSONPatchType, `[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/theirs"}]`)
		}, set([]any{"example.com/mine", "example.com/more"}, "metadata", "finalizers")},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, deployment)
			set(int64(0), "spec", "replicas")(s.manifest) // YAML has no integers
			s.apply()
			tc.before(s)
			live := s.get()
			untouched := live.DeepCopy()
			tc.next(s.manifest)
			got, err := fieldset.Merge(live.Object, s.manifest.Object, live.GetManagedFields(), us)
			if err != nil {
				t.Fatal(err)
			}
			want := s.apply()
			strip := func(o *unstructured.Unstructured) map[string]any {
				o.SetGeneration(0)
				return declarable(o)
			}
			if diff := cmp.Diff(strip(want), strip(&unstructured.Unstructured{Object: got})); diff != "" {
				t.Errorf("%s (-server +merge):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(untouched, live); diff != "" {
				t.Errorf("the live object was changed:\n%s", diff)
			}
		})
	}
}

func TestGainedAndHolders(t *testing.T) {
	t.Parallel()
	s := newSubject(t, deployment)
	s.apply()
	s.merge(`{"spec":{"replicas":3},"metadata":{"labels":{"mine":null,"theirs":"1"}}}`)
	before := s.get().GetManagedFields()
	after := s.apply().GetManagedFields()
	fields, err := fieldset.Gained(before, after, us)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, path := range fields {
		texts = append(texts, path.String())
	}
	if diff := cmp.Diff([]string{".metadata.labels.mine", ".spec.replicas"}, texts); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	for _, tc := range []struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		fields  []fieldpath.Path
		want    []string
	}{
		{"who changed a field holds it", before, fields, []string{"kubectl-edit"}},
		{"who holds something below", before, []fieldpath.Path{fieldpath.MakePathOrDie("metadata", "labels")}, []string{"kubectl-edit"}},
		{"nobody holds what was removed", before, fields[:1], nil},
		{"what is ours is held by nobody else", after, fields, nil},
	} {
		holders, err := fieldset.Holders(tc.entries, tc.fields, us)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, holders); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}
