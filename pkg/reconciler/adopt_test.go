// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAdoptionsAreRecorded is about owners that want to know which dependents existed before.
func TestAdoptionsAreRecorded(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"replace", "recreate"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			manifests := ""
			for _, name := range []string{"theirs1", "theirs2", "ours1", "ours2"} {
				manifests += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {PREFIX/update-policy: %s}}\ndata: {value: ours}\n", name, policy)
			}
			w := newWorld(t)
			for i := range 2 {
				w.create(strings.ReplaceAll(strings.ReplaceAll(claimed, "METADATA", "labels: {a: b}"), "name: a", fmt.Sprintf("name: theirs%d", i+1)))
			}
			before := w.configMap("theirs1")

			// The plan is recorded (and counted twice), and after that the adoptions.
			w.owner.Store = &failing{world: w, at: w.saves + 3}
			request := w.request(manifests)
			request.RecordAdoptions = true
			if _, err := w.engine.Apply(t.Context(), request); err == nil || !strings.Contains(err.Error(), "saving the inventory") {
				t.Errorf("expected the failure of the store, got %v", err)
			}
			if diff := cmp.Diff(before, w.configMap("theirs1")); diff != "" {
				t.Errorf("it was adopted although that is not recorded (-before +after):\n%s", diff)
			}

			w.owner.Store = w
			saves := w.saves
			request.Owner = w.owner
			result, err := w.engine.Apply(t.Context(), request)
			w.owner.Inventory = result.Inventory
			if err != nil || !result.Done {
				t.Fatalf("done: %v, %v", result.Done, err)
			}
			if w.saves != saves+1 {
				t.Errorf("want one save for all adoptions of a tier, got %d", w.saves-saves)
			}
			w.expectActions(result, "Adopted ConfigMap theirs1", "Adopted ConfigMap theirs2", "Updated ConfigMap ours1", "Updated ConfigMap ours2")
			w.expectAdopted("theirs1 theirs2")
			// It stays what it was, whatever is applied later, and while it is not wanted any more.
			w.mustApply(strings.ReplaceAll(manifests, "value: ours", "value: new"))
			w.expectAdopted("theirs1 theirs2")
			w.mustDelete()
		})
	}
}

// TestAdoptionsAreNotRecorded is about all other owners: for them, nothing changes, and there are no further saves.
func TestAdoptionsAreNotRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createClaimed("labels: {a: b}")
	w.expectActions(w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: ours}\n"), "Adopted ConfigMap a")
	w.expectAdopted("")
	if w.saves != 1 {
		t.Errorf("want one save, got %d", w.saves)
	}
}

// expectAdopted compares the names of the dependents of which is recorded that they were there before.
func (w *world) expectAdopted(want string) {
	w.Helper()
	var names []string
	for _, item := range w.owner.Inventory {
		if item.Adopted {
			names = append(names, item.Name)
		}
	}
	if got := strings.Join(names, " "); got != want {
		w.Errorf("recorded as adopted: %q, want %q", got, want)
	}
}
