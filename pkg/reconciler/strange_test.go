// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestStrangeAnnotations warns about annotations that are most likely misspelt, in plans and once when an object is written.
func TestStrangeAnnotations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withOptions(func(o *reconciler.Options) { o.OwnAnnotations = []string{"hash"} }))
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/apply-ordre: \"1\", PREFIX/hash: x, PREFIX/drift-policy: ignore}}\ndata: {a: b}\n"
	want := []string{"annotation " + prefix + "/apply-ordre is not known, and has no effect; did you mean apply-order?"}
	plan := w.plan(manifest, reconciler.PlanOptions{})
	if diff := cmp.Diff(want, plan.Changes[0].Notes); diff != "" {
		t.Errorf("plan (-want +got)\n%s", diff)
	}
	noted := func(result reconciler.Result) []string {
		var notes []string
		for _, note := range result.Notes {
			notes = append(notes, note.Message)
		}
		return notes
	}
	if diff := cmp.Diff(want, noted(w.mustApply(manifest))); diff != "" {
		t.Errorf("creation (-want +got)\n%s", diff)
	}
	if notes := noted(w.mustApply(manifest)); len(notes) > 0 {
		t.Errorf("want nothing at rest, got %v", notes)
	}
	w.remove(w.configMap("a"))
	var result reconciler.Result
	w.settle(manifest, func(last reconciler.Result) (bool, string) {
		result = last
		return slices.Contains(actions(last), "Restored ConfigMap a"), strings.Join(actions(last), ", ")
	})
	if notes := noted(result); len(notes) > 0 {
		t.Errorf("want nothing with a correction, got %v", notes)
	}
	if diff := cmp.Diff(want, noted(w.mustApply(strings.Replace(manifest, "a: b", "a: c", 1)))); diff != "" {
		t.Errorf("update (-want +got)\n%s", diff)
	}
}
