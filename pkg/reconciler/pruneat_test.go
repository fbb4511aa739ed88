// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// inWaves returns the manifest of a ConfigMap with orders.
func inWaves(name string, applyOrder, deleteOrder int) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {PREFIX/apply-order: %q, PREFIX/delete-order: %q}}\n",
		name, fmt.Sprint(applyOrder), fmt.Sprint(deleteOrder))
}

// changed returns which objects were written and deleted, in this order, since as many requests as given.
func (w *world) changed(before int) []string {
	lines := w.writes()[before:]
	for i, line := range lines {
		method, _, _ := strings.Cut(line, " ")
		lines[i] = method + " " + path.Base(line)
	}
	return lines
}

// TestPruneAtWaves deletes redundant objects between the waves, and waits until they are gone, also in the next process.
func TestPruneAtWaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.PruneAt = reconciler.PruneAtWaves
	w.mustApply(inWaves("drop-first", 0, -10) + inWaves("drop-middle", 0, 5) + inWaves("drop-last", 0, 10))
	w.patch(w.configMap("drop-middle"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
	next := inWaves("zero", 0, 0) + inWaves("five", 5, 0) + inWaves("seven", 7, 0)
	w = w.heir()
	waits := func(r reconciler.Result) (bool, string) { return len(r.Waits) > 0, "nothing is awaited" }
	if result := w.settle(next, waits); result.Wave != 5 || !strings.HasPrefix(notices(result.Waits), "ConfigMap drop-middle: being deleted") {
		t.Errorf("want the deletion to be awaited in wave 5, got wave %d: %s", result.Wave, notices(result.Waits))
	}
	if diff := cmp.Diff([]string{"DELETE drop-first", "PATCH zero", "DELETE drop-middle"}, w.changed(0)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w = w.heir()
	w.settle(next, waits)
	w.release("drop-middle")
	w.mustApply(next)
	if diff := cmp.Diff([]string{"PATCH five", "PATCH seven", "DELETE drop-last"}, w.changed(0)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w.expectInventory("ConfigMap five Ready Current", "ConfigMap seven Ready Current", "ConfigMap zero Ready Current")

	request := w.requestOf(w, inWaves("three", 3, 0))
	request.Policies = w.policies
	plan, err := w.engine.Plan(t.Context(), request, reconciler.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, change := range plan.Changes {
		order = append(order, string(change.Verb)+" "+change.Object.Name)
	}
	if diff := cmp.Diff([]string{"Deleted five", "Deleted seven", "Deleted zero", "Created three"}, order); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// TestPruneAtEnd is the default.
func TestPruneAtEnd(t *testing.T) {
	t.Parallel()
	for _, at := range []reconciler.PruneAt{"", reconciler.PruneAtEnd} {
		w := newWorld(t)
		w.policies.PruneAt = at
		w.mustApply(inWaves("drop", 0, -10))
		before := len(w.writes())
		w.mustApply(inWaves("new", 7, 0))
		if diff := cmp.Diff([]string{"PATCH new", "DELETE drop"}, w.changed(before)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
}

// TestHeldDeletionsDoNotStopWaves: what may be deleted only with approval stays, and the waves go on.
func TestHeldDeletionsDoNotStopWaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.PruneAt, w.deletions.Max = reconciler.PruneAtWaves, "0"
	w.mustApply(inWaves("drop", 0, -10))
	result := w.settle(inWaves("new", 7, 0), heldBack)
	digest := w.expectHeld(result, 2, 0, "drop")
	w.expectInventory("ConfigMap drop ScheduledForDeletion Terminating", "ConfigMap new Ready Current")
	w.deletions.Approved = digest
	w.expectActions(w.mustApply(inWaves("new", 7, 0)), "Deleted ConfigMap drop")
}

// TestRefusedPruneAt names the value and what is allowed.
func TestRefusedPruneAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.PruneAt = "First"
	_, err := w.apply(configMapsNamed("a"))
	w.expectRefusal(err, `prune at: invalid value "First"; must be one of: end, waves`)
}
