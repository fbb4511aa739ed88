// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// configMapsNamed returns the manifests of ConfigMaps with these names.
func configMapsNamed(names ...string) string {
	var manifests strings.Builder
	for _, name := range names {
		fmt.Fprintf(&manifests, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: a}\n", name)
	}
	return manifests.String()
}

// expectHeld checks that exactly these objects are held, and returns their digest.
func (w *world) expectHeld(result reconciler.Result, dependents, allowed int, names ...string) string {
	w.Helper()
	if result.Held == nil {
		w.Fatalf("expected %v to be held, but nothing is; actions: %v", names, actions(result))
	}
	var got []string
	for _, object := range result.Held.Objects {
		got = append(got, object.Name)
	}
	if diff := cmp.Diff(names, got); diff != "" {
		w.Errorf("held (-want +got):\n%s", diff)
	}
	if result.Held.Dependents != dependents || result.Held.Allowed != allowed {
		w.Errorf("expected %d of %d to be allowed, got %d of %d", allowed, dependents, result.Held.Allowed, result.Held.Dependents)
	}
	if result.Done || result.Held.Digest == "" {
		w.Errorf("expected an unfinished result with a digest, got %+v", result)
	}
	return result.Held.Digest
}

// TestDeletionsAreHeld deletes more dependents than allowed, approves that, and finds everything else done as usual.
func TestDeletionsAreHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(configMapsNamed("a", "b", "c", "d"))
	w.deletions.Max = "25%"
	fewer := configMapsNamed("a", "new")
	result := w.settle(fewer, func(r reconciler.Result) (bool, string) { return r.Held != nil, notices(r.Waits) })
	digest := w.expectHeld(result, 5, 1, "b", "c", "d")
	w.expectInventory("ConfigMap a Ready Current", "ConfigMap b ScheduledForDeletion Terminating", "ConfigMap c ScheduledForDeletion Terminating",
		"ConfigMap d ScheduledForDeletion Terminating", "ConfigMap new Ready Current")
	if w.configMap("new") == nil {
		t.Error("expected new objects to be created")
	}

	// Drift is corrected while deletions are held.
	w.patch(w.configMap("a"), `{"data":{"value":"other"}}`)
	w.settle(fewer, func(r reconciler.Result) (bool, string) {
		return diffData(map[string]any{"value": "a"}, w.configMap("a")) == "", "drift stays"
	})
	// What somebody else deletes is not held any more, and the list is another one.
	w.remove(w.configMap("d"))
	result = w.settle(fewer, func(r reconciler.Result) (bool, string) { return len(r.Held.Objects) == 2, "d is still held" })
	shorter := w.expectHeld(result, 4, 1, "b", "c")
	if shorter == digest {
		t.Error("another list has the same digest")
	}
	w.deletions.Approved = digest
	result, err := w.apply(fewer)
	if err != nil {
		t.Fatal(err)
	}
	w.expectHeld(result, 4, 1, "b", "c")
	w.expectActions(result)

	w.awaitQuiet(fewer)
	before := len(w.requests.All())
	if result, err = w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, fewer), Digest: w.digest, Deletions: w.deletions}); err != nil {
		t.Fatal(err)
	}
	if made := w.requests.All()[before:]; len(made) > 0 || result.RequeueAfter != 0 {
		t.Errorf("a pass with held deletions made requests: %v, and is repeated after %s", made, result.RequeueAfter)
	}

	w.deletions.Approved = shorter
	w.expectActions(w.mustApply(fewer), "Deleted ConfigMap b", "Deleted ConfigMap c")
	w.expectInventory("ConfigMap a Ready Current", "ConfigMap new Ready Current")
}

// awaitQuiet waits until passes report nothing but held deletions, and the observer knows all objects.
func (w *world) awaitQuiet(manifests string) {
	w.Helper()
	w.settle(manifests, func(r reconciler.Result) (bool, string) { return len(r.Actions) == 0 && r.Held != nil, "not at rest" })
}

// TestGeneratorThatRendersNothing does not empty the cluster; a change of all names does not count as that.
func TestGeneratorThatRendersNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deletions.Max = reconciler.MaxDeletionsAllButOne
	w.mustApply(configMapsNamed("a", "b"))
	w.expectActions(w.mustApply(configMapsNamed("c", "d")), "Created ConfigMap c", "Created ConfigMap d", "Deleted ConfigMap a", "Deleted ConfigMap b")
	result, err := w.apply("")
	if err != nil {
		t.Fatal(err)
	}
	w.expectHeld(result, 2, 1, "c", "d")
	w.expectActions(result)
	// It renders something again.
	w.expectActions(w.mustApply(configMapsNamed("c")), "Deleted ConfigMap d")
	w.expectInventory("ConfigMap c Ready Current")
	// The deletion of the owner is no matter of the limit.
	w.mustDelete()
	w.expectInventory()
}

// TestOrphansAreNotHeld orphans objects while others are held.
func TestOrphansAreNotHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/delete-policy: orphan}}\n" + configMapsNamed("b"))
	w.deletions.Max = reconciler.MaxDeletionsAllButOne
	result, err := w.apply("")
	if err != nil {
		t.Fatal(err)
	}
	digest := w.expectHeld(result, 1, 0, "b")
	w.expectActions(result, "Orphaned ConfigMap a")
	w.deletions.Approved = digest
	w.expectActions(w.mustApply(""), "Deleted ConfigMap b")
}

// TestApprovalDoesNotCoverOthers approves a list, and then more becomes redundant.
func TestApprovalDoesNotCoverOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(configMapsNamed("a", "b", "c"))
	w.patch(w.configMap("a"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.deletions.Max = "0"
	result, err := w.apply(configMapsNamed("b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	w.deletions.Approved = w.expectHeld(result, 3, 0, "a")
	w.settle(configMapsNamed("b", "c"), func(reconciler.Result) (bool, string) {
		return slices.Contains(w.inventory(), "ConfigMap a Deleting Terminating"), "a is not being deleted"
	})
	result, err = w.apply(configMapsNamed("c"))
	if err != nil {
		t.Fatal(err)
	}
	w.expectHeld(result, 2, 0, "b")
	w.patch(w.configMap("a"), `{"metadata":{"finalizers":null}}`)
	w.settle(configMapsNamed("c"), func(reconciler.Result) (bool, string) { return len(w.owner.Inventory) == 2, "a is not gone" })
	if w.configMap("b") == nil {
		t.Error("b was deleted without approval")
	}
}

// TestApprovalEndsWithTheNeed approves a deletion, and declares the object again before it has begun.
func TestApprovalEndsWithTheNeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(configMapsNamed("a", "b"))
	w.deletions.Max = "0"
	result, err := w.apply(configMapsNamed("a"))
	if err != nil {
		t.Fatal(err)
	}
	w.deletions.Approved = w.expectHeld(result, 2, 0, "b")
	mortal := w.mortal(0)
	if _, err := mortal.engine.Apply(t.Context(), w.requestOf(mortal, configMapsNamed("a"))); err == nil {
		t.Fatal("expected to die")
	}
	if !w.owner.Inventory[1].DeletionApproved {
		t.Fatalf("expected the approval to be recorded, got %v", w.inventory())
	}
	w.deletions.Approved = ""
	w.mustApply(configMapsNamed("a", "b"))
	result, err = w.apply(configMapsNamed("a"))
	if err != nil {
		t.Fatal(err)
	}
	w.expectHeld(result, 2, 0, "b")
}

func (w *world) requestOf(process *world, manifests string) reconciler.ApplyRequest {
	return reconciler.ApplyRequest{Owner: process.owner, Objects: objects(w, manifests), Digest: w.digest, Deletions: w.deletions}
}

// TestDeathWhileDeletingWithApproval ends the process at each request. The rest of the approved list is another list, and goes nevertheless.
func TestDeathWhileDeletingWithApproval(t *testing.T) {
	t.Parallel()
	const rest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/delete-order: \"1\"}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
	for survived := range 3 {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(rest + configMapsNamed("c", "stays"))
			w.deletions.Max = "1"
			fewer := configMapsNamed("stays")
			result, err := w.apply(fewer)
			if err != nil {
				t.Fatal(err)
			}
			w.deletions.Approved = w.expectHeld(result, 4, 1, "a", "b", "c")
			mortal := w.mortal(survived)
			if _, err := mortal.engine.Apply(t.Context(), w.requestOf(mortal, fewer)); err == nil {
				t.Fatal("expected to die")
			}
			heir := newWorld(t)
			heir.owner, heir.namespace, heir.deletions = w.owner, w.namespace, w.deletions
			heir.owner.Store = heir
			heir.settle(fewer, func(r reconciler.Result) (bool, string) {
				if r.Held != nil {
					t.Fatalf("held although it was approved: %v", r.Held)
				}
				return r.Done, notices(r.Waits)
			})
			heir.expectInventory("ConfigMap stays Ready Current")
		})
	}
}

// unsaved is a store that saves nothing.
type unsaved struct{}

func (unsaved) Save(stdcontext.Context, []*reconciler.InventoryItem) error {
	return errors.New("not saved")
}

// TestApprovalIsRecordedFirst deletes nothing if the approval cannot be recorded.
func TestApprovalIsRecordedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(configMapsNamed("a", "b"))
	w.deletions.Max = "0"
	result, err := w.apply("")
	if err != nil {
		t.Fatal(err)
	}
	w.deletions.Approved = w.expectHeld(result, 2, 0, "a", "b")
	w.owner.Store = unsaved{}
	if _, err := w.apply(""); err == nil || !strings.Contains(err.Error(), "not saved") {
		t.Errorf("expected the pass to end, got %v", err)
	}
	if w.configMap("a") == nil || w.configMap("b") == nil {
		t.Error("something was deleted before the approval was recorded")
	}
}

// TestHeldDeletionsArePlanned: a plan names what would be held, and does not count it as deleted.
func TestHeldDeletionsArePlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(configMapsNamed("a", "b"))
	w.deletions.Max = reconciler.MaxDeletionsAllButOne
	for _, compare := range []bool{false, true} {
		plan, err := w.engine.Plan(t.Context(), w.requestOf(w, ""), reconciler.PlanOptions{Compare: compare})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Held == nil || len(plan.Held.Objects) != 2 || len(plan.Changes) != 2 {
			t.Fatalf("expected both objects to be held, got %+v", plan)
		}
		for _, change := range plan.Changes {
			if change.Verb != "" || !strings.Contains(change.Reason, "is kept until its deletion is approved: 2 of 2 dependents would be deleted, but only 1 may be") || change.Before != nil {
				t.Errorf("unexpected change %+v", change)
			}
		}
		result, err := w.apply("")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan.Held, result.Held); diff != "" {
			t.Errorf("planned and done (-plan +result):\n%s", diff)
		}
	}
	w.deletions.Approved = ""
	plan, err := w.engine.Plan(t.Context(), w.requestOf(w, ""), reconciler.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// A plan that holds deletions is not carried out once they are approved.
	w.deletions.Approved = plan.Held.Digest
	request := w.requestOf(w, "")
	request.Expected = &plan
	var stale *reconciler.StaleError
	if _, err = w.engine.Apply(t.Context(), request); !errors.As(err, &stale) {
		t.Errorf("expected a stale plan, got %v", err)
	}
	w.mustApply("")
	w.expectInventory()
}

// TestBadLimitsOfDeletions names the value and what is allowed.
func TestBadLimitsOfDeletions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, bad := range []reconciler.MaxDeletions{"many", "-1", "101%"} {
		w.deletions.Max = bad
		_, err := w.apply(configMapsNamed("a"))
		w.expectRefusal(err, `max deletions: invalid value "`+string(bad)+`"; must be a number of at least 0, a percentage from 0% to 100%, or AllButOne`)
	}
	if w.configMap("a") != nil {
		t.Error("something was applied")
	}
}
