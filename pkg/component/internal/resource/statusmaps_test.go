// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
