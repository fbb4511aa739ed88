// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package annotations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/component-operator/runtime/internal/annotations"
)

func TestSet(t *testing.T) {
	t.Parallel()
	set := annotations.Finalizers{Current: "now", Former: []string{"then", "before"}}
	for _, tc := range []struct {
		reason        string
		present       []string
		on            bool
		with, without []string
	}{
		{"none", nil, false, []string{"now"}, nil},
		{"the current one", []string{"a", "now", "b"}, true, []string{"a", "now", "b"}, []string{"a", "b"}},
		{"a former one", []string{"then", "a"}, true, []string{"a", "now"}, []string{"a"}},
		{"all", []string{"before", "then", "now"}, true, []string{"now"}, nil},
		{"of others", []string{"a"}, false, []string{"a", "now"}, []string{"a"}},
	} {
		if got := set.On(tc.present); got != tc.on {
			t.Errorf("%s: on: %v", tc.reason, got)
		}
		if diff := cmp.Diff(tc.with, set.With(tc.present)); diff != "" {
			t.Errorf("%s: with (-want +got):\n%s", tc.reason, diff)
		}
		if diff := cmp.Diff(tc.without, set.Without(tc.present), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: without (-want +got):\n%s", tc.reason, diff)
		}
	}
	if got := (annotations.Finalizers{Current: "now", Former: []string{"now"}}).With([]string{"now"}); len(got) != 1 {
		t.Errorf("expected the current finalizer to stay, got %v", got)
	}
}
