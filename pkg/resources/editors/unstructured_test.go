// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

type content = map[string]any

func TestUnstructuredContentEditor(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		start content
		edit  func(e *editors.UnstructuredContentEditor) error
		want  content
	}{
		"maps on the path are created": {
			content{},
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedString("x", "spec", "a", "b") },
			content{"spec": content{"a": content{"b": "x"}}},
		},
		"other fields stay": {
			content{"spec": content{"a": "x", "b": true}},
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedBool(false, "spec", "b") },
			content{"spec": content{"a": "x", "b": false}},
		},
		"a field of the top is set": {
			content{"kind": "A"},
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedString("B", "kind") },
			content{"kind": "B"},
		},
		"a field may change its type": {
			content{"spec": content{"a": "x"}},
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedInt64(1, "spec", "a") },
			content{"spec": content{"a": int64(1)}},
		},
		"null on the path is replaced": {
			content{"spec": nil},
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedFloat64(1.5, "spec", "a") },
			content{"spec": content{"a": 1.5}},
		},
		"a nil map on the path is replaced": {
			content{"spec": content(nil)},
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedInt64(1, "spec", "a") },
			content{"spec": content{"a": int64(1)}},
		},
		"a name may have dots": {
			content{},
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedString("x", "data", "a.b") },
			content{"data": content{"a.b": "x"}},
		},
		"a list is set": {
			content{},
			func(e *editors.UnstructuredContentEditor) error {
				return e.SetNestedSlice([]any{"x", content{"a": true}}, "spec")
			},
			content{"spec": []any{"x", content{"a": true}}},
		},
		"a map replaces the old one as a whole": {
			content{"spec": content{"a": "x"}},
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedMap(content{"b": "y"}, "spec") },
			content{"spec": content{"b": "y"}},
		},
		"a map of strings replaces the old one as a whole": {
			content{"spec": content{"a": "x"}},
			func(e *editors.UnstructuredContentEditor) error {
				return e.SetNestedStringMap(map[string]string{"b": "y"}, "spec")
			},
			content{"spec": content{"b": "y"}},
		},
		"nil is an empty list": {
			content{}, func(e *editors.UnstructuredContentEditor) error { return e.SetNestedSlice(nil, "a") }, content{"a": []any{}},
		},
		"nil is an empty map": {
			content{}, func(e *editors.UnstructuredContentEditor) error { return e.SetNestedMap(nil, "a") }, content{"a": content{}},
		},
		"nil is an empty map of strings": {
			content{}, func(e *editors.UnstructuredContentEditor) error { return e.SetNestedStringMap(nil, "a") }, content{"a": content{}},
		},
		"nil without a type is null": {
			content{"a": "x"}, func(e *editors.UnstructuredContentEditor) error { return e.SetNestedField(nil, "a") }, content{"a": nil},
		},
		"Go types become those of unstructured objects": {
			content{},
			func(e *editors.UnstructuredContentEditor) error {
				return e.SetNestedField(content{"int": 1, "texts": []string{"x"}, "struct": struct {
					A int32 `json:"a"`
				}{2}}, "a")
			},
			content{"a": content{"int": int64(1), "texts": []any{"x"}, "struct": content{"a": int64(2)}}},
		},
		"an entry is set in a map that is missing": {
			content{},
			func(e *editors.UnstructuredContentEditor) error {
				return e.EnsureNestedStringMapEntry("a", "1", "spec", "labels")
			},
			content{"spec": content{"labels": content{"a": "1"}}},
		},
		"an entry is replaced, others stay": {
			content{"labels": content{"a": "1", "b": "1"}},
			func(e *editors.UnstructuredContentEditor) error {
				return e.EnsureNestedStringMapEntry("a", "2", "labels")
			},
			content{"labels": content{"a": "2", "b": "1"}},
		},
		"entries are removed, the map stays": {
			content{"labels": content{"a": "1"}},
			func(e *editors.UnstructuredContentEditor) error {
				e.RemoveNestedStringMapEntry("a", "labels")
				e.RemoveNestedStringMapEntry("b", "labels")
				e.RemoveNestedStringMapEntry("a", "annotations")
				return nil
			},
			content{"labels": content{}},
		},
		"a field is removed": {
			content{"spec": content{"a": content{"b": "x"}, "c": "y"}},
			func(e *editors.UnstructuredContentEditor) error { e.RemoveNestedField("spec", "a"); return nil },
			content{"spec": content{"c": "y"}},
		},
		"what is absent is not removed": {
			content{"spec": content{"a": "x"}},
			func(e *editors.UnstructuredContentEditor) error {
				e.RemoveNestedField("spec", "b")
				e.RemoveNestedField("status", "a", "b")
				e.RemoveNestedField("spec", "a", "b", "c")
				return nil
			},
			content{"spec": content{"a": "x"}},
		},
		"without a path nothing is removed": {
			content{"a": "x"},
			func(e *editors.UnstructuredContentEditor) error {
				e.RemoveNestedField()
				e.RemoveNestedStringMapEntry("a")
				return nil
			},
			content{"a": "x"},
		},
		"Raw is the content itself": {
			content{}, func(e *editors.UnstructuredContentEditor) error { e.Raw()["a"] = "x"; return nil }, content{"a": "x"},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			e := editors.NewUnstructuredContentEditor(tc.start)
			for range 2 {
				if err := tc.edit(e); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, tc.start); diff != "" {
					t.Errorf("unexpected content (-want +got)\n%s", diff)
				}
			}
			// It panics if a value has a type that unstructured objects do not have.
			runtime.DeepCopyJSON(tc.start)
		})
	}
}

func TestUnstructuredContentEditorRefuses(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		edit   func(e *editors.UnstructuredContentEditor) error
		wanted []string
	}{
		"an empty path": {
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedString("x") },
			[]string{"the path of a field is empty", "must be"},
		},
		"an entry of the object itself": {
			func(e *editors.UnstructuredContentEditor) error { return e.EnsureNestedStringMapEntry("kind", "x") },
			[]string{"the path of a field is empty", "must be"},
		},
		"a path through a text, which may be secret": {
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedString("x", "spec", "a", "b", "c") },
			[]string{"field spec.a.b.c", "spec.a has type string", "must be a map"},
		},
		"a map of strings that is none": {
			func(e *editors.UnstructuredContentEditor) error {
				return e.EnsureNestedStringMapEntry("x", "y", "spec", "a")
			},
			[]string{"field spec.a.x", "spec.a has type string"},
		},
		"a number that JSON does not have": {
			func(e *editors.UnstructuredContentEditor) error {
				return e.SetNestedFloat64(math.NaN(), "spec", "new", "x")
			},
			[]string{"field spec.new.x", "NaN", "must be"},
		},
		"such a number in a list": {
			func(e *editors.UnstructuredContentEditor) error {
				return e.SetNestedSlice([]any{math.Inf(1)}, "spec", "new", "x")
			},
			[]string{"field spec.new.x", "+Inf", "must be"},
		},
		"a type that has no JSON form": {
			func(e *editors.UnstructuredContentEditor) error {
				return e.SetNestedField(content{"f": func() {}}, "spec", "new", "x")
			},
			[]string{"spec.new.x.f", "func()", "must be"},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			got := content{"spec": content{"a": "secret"}, "kind": "K"}
			want := runtime.DeepCopyJSON(maps.Clone(got))
			expectError(t, tc.edit(editors.NewUnstructuredContentEditor(got)), tc.wanted...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the content has changed: %s", diff)
			}
		})
	}
}

func TestUnstructuredContentEditorLeavesThePath(t *testing.T) {
	t.Parallel()
	full := []string{"spec", "labels", "kept"}
	e := editors.NewUnstructuredContentEditor(content{})
	if err := e.EnsureNestedStringMapEntry("a", "1", full[:2]...); err != nil {
		t.Fatal(err)
	}
	e.RemoveNestedStringMapEntry("b", full[:2]...)
	if diff := cmp.Diff([]string{"spec", "labels", "kept"}, full); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(content{"spec": content{"labels": content{"a": "1"}}}, e.Raw()); diff != "" {
		t.Error(diff)
	}
}
