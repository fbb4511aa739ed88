// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

type m = map[string]any

func TestMergeMaps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		x, y   m
		want   m
	}{
		{"y wins", m{"a": 1}, m{"a": 2}, m{"a": 2}},
		{"maps are merged at any depth", m{"a": m{"b": m{"c": 1, "d": 1}}}, m{"a": m{"b": m{"d": 2, "e": 2}}}, m{"a": m{"b": m{"c": 1, "d": 2, "e": 2}}}},
		{"slices are replaced", m{"a": []any{1, 2}}, m{"a": []any{3}}, m{"a": []any{3}}},
		{"nil removes a scalar", m{"a": 1, "b": 1}, m{"a": nil}, m{"b": 1}},
		{"nil for what is not there may still remove a default further down", m{}, m{"a": nil}, m{"a": nil}},
		{"a nil map counts as a map without entries", m{"a": m(nil)}, m{"a": m{"b": 1}}, m{"a": m{"b": 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			x, y := types.UnstructurableMap(tt.x).ToUnstructured(), types.UnstructurableMap(tt.y).ToUnstructured()
			got := manifests.MergeMaps(tt.x, tt.y)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("unexpected result (-want +got):\n%s", diff)
			}
			scribble(got)
			if diff := cmp.Diff(x, tt.x); diff != "" {
				t.Errorf("x was changed, or is shared with the result (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(y, tt.y); diff != "" {
				t.Errorf("y was changed, or is shared with the result (-before +after):\n%s", diff)
			}
		})
	}
}

// scribble changes each map and slice that can be reached.
func scribble(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, item := range value {
			scribble(item)
		}
		if value != nil {
			value["scribbled"] = true
		}
	case []any:
		for i, item := range value {
			scribble(item)
			value[i] = "scribbled"
		}
	}
}
