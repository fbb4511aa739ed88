// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/behaviors"
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

// TestOrdersOfBehaviors: objects are deleted in the waves that their behaviors say, unless they have the annotation. A change of the order is recorded, and writes no object.
func TestOrdersOfBehaviors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orders := []behaviors.DeleteOrder{-1, 5, 2}
	generate := func() []client.Object {
		list := objects(w, strings.ReplaceAll(configMapsNamed("a", "b", "c"), "{name: b}", `{name: b, annotations: {PREFIX/delete-order: "-4", PREFIX/update-policy: recreate}}`))
		for i, order := range orders {
			list[i] = behaviors.Attach(list[i], order)
		}
		return list
	}
	w.settleObjects(generate, done)
	w.requests.Reset()
	orders = []behaviors.DeleteOrder{7, 5, -2}
	result := w.settleObjects(generate, done)
	w.expectActions(result)
	if writes := w.requests.Count(testenv.Request.IsWrite); writes > 0 {
		t.Errorf("%d writes, although only orders have changed", writes)
	}
	// A process that finds no record knows the orders with which the objects were written last.
	rebuilt, err := w.engine.Rebuild(t.Context(), reconciler.RebuildRequest{ID: w.owner.ID, Objects: generate()})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]int{}
	for _, item := range rebuilt.Inventory {
		known[item.Name] = item.DeleteOrder
	}
	if diff := cmp.Diff(map[string]int{"a": -1, "b": -4, "c": 2}, known); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.mustDelete()
	if got := w.requested(http.MethodDelete); got != "b c a" {
		t.Errorf("deleted in the order %s", got)
	}
	orders[0] = 40000
	_, err = w.applyObjects(generate())
	w.expectRefusal(err, "ConfigMap NS/a: invalid delete order 40000; must be from -32768 to 32767")
}
