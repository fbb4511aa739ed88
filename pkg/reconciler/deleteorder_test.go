// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"slices"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestReversedDeletion deletes what was applied last first, and waits until it is gone, also in a process that knows only the record.
func TestReversedDeletion(t *testing.T) {
	t.Parallel()
	const manifests = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: last, annotations: {PREFIX/apply-order: \"7\"}}\n"
	w := newWorld(t)
	w.policies.DeleteOrder = reconciler.DeleteOrderReversed
	w.mustApply(manifests)
	w.patch(w.configMap("last"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
	heir := newWorld(t)
	heir.owner, heir.namespace = w.owner, w.namespace
	heir.owner.Store = heir
	result, err := heir.apply("")
	if err != nil {
		t.Fatal(err)
	}
	if result.Done || result.Wave != -7 {
		t.Errorf("expected to wait in wave -7, got %+v", result)
	}
	if w.configMap("first") == nil {
		t.Error("first was deleted before last was gone")
	}
	w.patch(w.configMap("last"), `{"metadata":{"finalizers":null}}`)
	if got := actions(heir.mustApply("")); !slices.Contains(got, "Deleted ConfigMap first") {
		t.Errorf("first stays: %v", got)
	}
}
