// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"errors"
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
	got := content{"spec": content{"old": "x", "gone": content{"b": "x"}}, "null": nil, "labels": content{"a": "1", "b": "1"}}
	e := editors.NewUnstructuredContentEditor(got)
	err := errors.Join(
		e.SetNestedString("x", "spec", "new", "a.b"),
		e.SetNestedBool(true, "spec", "old"),
		e.SetNestedInt64(1, "null", "a"),
		e.SetNestedFloat64(1.5, "spec", "float"),
		e.SetNestedSlice(nil, "list"),
		e.SetNestedMap(content{"int": 1, "texts": []string{"x"}}, "map"),
		e.SetNestedStringMap(nil, "strings"),
		e.SetNestedField(nil, "nothing"),
		e.EnsureNestedStringMapEntry("a", "2", "labels"),
	)
	e.RemoveNestedStringMapEntry("b", "labels")
	e.RemoveNestedField("spec", "gone")
	e.RemoveNestedField("spec", "old", "is", "no", "map")
	e.RemoveNestedField("absent", "a")
	e.RemoveNestedField()
	want := content{
		"spec": content{"old": true, "new": content{"a.b": "x"}, "float": 1.5}, "null": content{"a": int64(1)}, "list": []any{},
		"map": content{"int": int64(1), "texts": []any{"x"}}, "strings": content{}, "nothing": nil, "labels": content{"a": "2"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
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
		"a path through a text, which may be secret": {
			func(e *editors.UnstructuredContentEditor) error { return e.SetNestedString("x", "spec", "a", "b", "c") },
			[]string{"field spec.a.b.c", "spec.a has type string", "must be a map"},
		},
		"a number that JSON does not have": {
			func(e *editors.UnstructuredContentEditor) error {
				return e.SetNestedFloat64(math.NaN(), "spec", "new", "x")
			},
			[]string{"field spec.new.x", "NaN", "must be"},
		},
	} {
		got := content{"spec": content{"a": "secret"}, "kind": "K"}
		want := runtime.DeepCopyJSON(maps.Clone(got))
		expectError(t, tc.edit(editors.NewUnstructuredContentEditor(got)), tc.wanted...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the content has changed: %s", reason, diff)
		}
	}
}
