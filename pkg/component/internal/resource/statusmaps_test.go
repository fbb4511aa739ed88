// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, from, to, want string
	}{
		{"nothing changed", `{"a": 1, "b": [1]}`, `{"a": 1, "b": [1]}`, `{}`},
		{"something came, changed, and went", `{"a": 1, "b": 1}`, `{"a": 2, "c": 3}`, `{"a": 2, "b": null, "c": 3}`},
		{"lists are replaced", `{"a": [1, 2]}`, `{"a": [2]}`, `{"a": [2]}`},
		{"maps are merged", `{"a": {"b": 1, "c": 2}}`, `{"a": {"b": 1, "d": 3}}`, `{"a": {"c": null, "d": 3}}`},
		{"a map becomes a value", `{"a": {"b": 1}}`, `{"a": 1}`, `{"a": 1}`},
		{"a value becomes a map", `{"a": 1}`, `{"a": {"b": 1}}`, `{"a": {"b": 1}}`},
		{"everything is new", `{}`, `{"a": {"b": []}}`, `{"a": {"b": []}}`},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			patch := MergePatch(decoded(t, test.from), decoded(t, test.to))
			expect(t, "patch", decoded(t, test.want), patch)
			raw, err := json.Marshal(patch)
			if err != nil {
				t.Fatal(err)
			}
			merged, err := jsonpatch.MergePatch([]byte(test.from), raw)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "patched value", decoded(t, test.to), decoded(t, string(merged)))
		})
	}
}

func TestDropped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, sent, received string
		want                   []string
	}{
		{"all came back", `{"a": [{"b": 1}]}`, `{"a": [{"b": 1}], "default": 2}`, nil},
		{"each field is named once", `{"a": [{"b": 1, "c": 2}, {"b": 1}], "d": {"e": 1}}`, `{"a": [{"c": 2}, {}], "d": {}}`, []string{"status.a[].b", "status.d.e"}},
		{"a whole branch is named by its root", `{"a": {"b": {"c": 1}}}`, `{"a": {}}`, []string{"status.a.b"}},
		{"null is nothing", `{"a": null}`, `{}`, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			expect(t, "dropped", test.want, Dropped(decoded(t, test.sent), decoded(t, test.received), "status"))
		})
	}
}

func TestSameStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, a, b string
		want         bool
	}{
		{"times of observation do not count", `{"state": "Ready", "lastObservedAt": "a"}`, `{"state": "Ready", "lastObservedAt": "b", "lastAppliedAt": "c"}`, true},
		{"other times do", `{"processingSince": "a"}`, `{"processingSince": "b"}`, false},
		{"states do", `{"state": "Ready"}`, `{"state": "Error"}`, false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			expect(t, "same", test.want, Same(decoded(t, test.a), decoded(t, test.b)))
		})
	}
	if !Same(nil, map[string]any{}) {
		t.Error("no status and an empty one are the same")
	}
}

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
