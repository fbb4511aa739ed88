// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/component-operator/runtime/internal/manifest"
)

func TestOf(t *testing.T) {
	t.Parallel()
	type declared struct {
		B string `json:"b"`
		A int    `json:"a"`
	}
	tests := []struct {
		reason string
		value  any
		want   string
	}{
		{
			reason: "a map counts by its sorted keys",
			value:  map[string]any{"b": "x", "a": []any{1, true, nil}},
			want:   "64156349ae56ec12c2431d0fc0bead67422a2e73b75e882a5853482b247aa396",
		},
		{
			reason: "a whole number counts the same whether it was decoded as float or as integer",
			value:  map[string]any{"a": []any{float64(1), true, nil}, "b": "x"},
			want:   "64156349ae56ec12c2431d0fc0bead67422a2e73b75e882a5853482b247aa396",
		},
		{
			reason: "a struct counts by the order of its fields",
			value:  declared{A: 1, B: "x"},
			want:   "3dc6ec680b7b614742aac293b2504cd90ae0d83d9a093fcd6847e04e8262c1c2",
		},
		{
			reason: "nothing has a digest too",
			value:  nil,
			want:   "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got, err := manifest.Digest(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestOfMap is Of.
func TestOfMap(t *testing.T) {
	t.Parallel()
	for _, content := range []map[string]any{
		{},
		{"b": 1, "a": "<text>", "c": nil, `quo"te`: []string{"x"}},
		{"list": []map[string]any{}},
		{"list": []map[string]any(nil)},
		{"values": map[string]any{"z": 1.5}, "list": []map[string]any{{"b": 1, "a": 2}, nil, {}}, "last": true},
	} {
		want, err := manifest.Digest(content)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := manifest.DigestOfMap(content); err != nil || got != want {
			t.Errorf("%v: want %s, got %s, error %v", content, want, got, err)
		}
	}
	for _, content := range []map[string]any{{"a": func() {}}, {"a": []map[string]any{{"b": func() {}}}}} {
		if got, err := manifest.DigestOfMap(content); err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("want an error that names the field, got %s, error %v", got, err)
		}
	}
}

func TestOwnerLabel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason  string
		ownerID string
		want    string
	}{
		{
			reason:  "dependents of existing operators carry this form and must be found again",
			ownerID: "0b5dc7c1-3b1e-4b7e-9d0a-6f1c2d3e4f50/demo/web",
			want:    "4jgwnybn7u5j2wdazmayxz4lnovsyxyklhodifmskie56q6gvaaa",
		},
		{
			reason:  "an empty id is an id",
			ownerID: "",
			want:    "4oymiquy7qobjgx36tejs35zeqt24qpemsnzgtfeswmrw6csxbkq",
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := manifest.OwnerLabel(test.ownerID)
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if problems := validation.IsValidLabelValue(got); len(problems) > 0 {
				t.Errorf("%s is no label value: %v", got, problems)
			}
		})
	}
}
