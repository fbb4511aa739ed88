// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// withDeletePolicy returns the manifest of a ConfigMap with a delete policy.
func withDeletePolicy(name, policy string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {PREFIX/delete-policy: " + policy + "}}\n"
}

// expectHeldDeletion expects the deletion of the owner to do nothing, because of these objects, and returns their
// digest.
func (w *world) expectHeldDeletion(dependents int, names ...string) string {
	w.Helper()
	before := w.inventory()
	w.requests.Reset()
	result, err := w.delete()
	if err != nil || len(result.Actions) > 0 {
		w.Fatalf("expected nothing to be done, got %v, %v", actions(result), err)
	}
	digest := w.expectHeld(result, dependents, 0, names...)
	if writes := w.writes(); len(writes) > 0 {
		w.Errorf("expected no writes, got %v", writes)
	}
	w.expectInventory(before...)
	want := fmt.Sprintf("%d of %d dependents may be deleted only with approval", len(names), dependents)
	if got := result.Held.String(); got != want || !result.Held.OwnerDeleted {
		w.Errorf("got %q", got)
	}
	held, err := w.engine.HeldDeletion(w.Context(), reconciler.DeleteRequest{Owner: w.owner})
	if err != nil || held == nil || held.Digest != digest {
		w.Errorf("expected the same to be held in advance, got %v, %v", held, err)
	}
	return digest
}

// TestDeletionsWithTheOwnerAreHeld deletes nothing until exactly what demands approval is approved. Whether an object
// is removed from the manifests is another matter.
func TestDeletionsWithTheOwnerAreHeld(t *testing.T) {
	t.Parallel()
	for reason, policy := range map[string]reconciler.DeletePolicy{"annotation": "", "owner": reconciler.DeletePolicyConfirmOnDelete} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.policies.Delete = policy
			data := withDeletePolicy("data", "confirm-on-delete")
			if policy != "" {
				data = configMapsNamed("data")
			}
			others := withDeletePolicy("other", "delete") + withDeletePolicy("kept", "orphan-on-delete")
			w.mustApply(data + others + withDeletePolicy("gone", "confirm-on-delete"))
			w.expectActions(w.mustApply(data+others), "Deleted ConfigMap gone")
			digest := w.expectHeldDeletion(3, "data")
			w = w.restart()
			w.expectHeldDeletion(3, "data")
			w.deletions.Approved = "other"
			w.expectHeldDeletion(3, "data")
			w.deletions.Approved = digest
			w.mustDelete()
			if w.configMap("data") != nil || w.configMap("other") != nil || w.configMap("kept") == nil {
				t.Error("expected all to be deleted but what is orphaned")
			}
		})
	}
}

// TestUnsavedApproval: what was not recorded as approved is not deleted.
func TestUnsavedApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withDeletePolicy("a", "confirm-on-delete"))
	owner := w.owner
	owner.Store = unsaved{}
	digest := w.expectHeldDeletion(1, "a")
	if _, err := w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: owner, Approved: digest}); err == nil || w.configMap("a") == nil {
		t.Errorf("expected an error before the deletion, got %v", err)
	}
	w.expectHeldDeletion(1, "a")
	result, err := w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: w.owner, Unasked: true})
	if err != nil || !strings.HasPrefix(strings.Join(actions(result), ""), "Deleted") {
		t.Errorf("expected a caller that has asked already to be obeyed, got %v, %v", actions(result), err)
	}
}

// TestApprovalDemandedByOnePolicy changes the policy of an object that cannot be written yet. Approval is needed if one
// of the policies says so.
func TestApprovalDemandedByOnePolicy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		applied, declared string
		held, stays       bool
	}{
		{"confirm-on-delete", "delete", true, false},
		{"delete", "confirm-on-delete", true, false},
		{"orphan-on-apply", "confirm-on-delete", false, true},
	} {
		t.Run(tc.applied+"-"+tc.declared, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(deletePolicied, "POLICY", tc.applied))
			if result, err := w.apply(unready + "---\n" + strings.ReplaceAll(deletePolicied, "POLICY", tc.declared)); err != nil || result.Done {
				t.Fatalf("expected to wait for another object, got %v", err)
			}
			if tc.held {
				w.deletions.Approved = w.expectHeldDeletion(2, "late")
			}
			w.mustDelete()
			if there := w.configMap("late") != nil; there != tc.stays {
				t.Errorf("expected it to stay: %v; it is there: %v", tc.stays, there)
			}
		})
	}
}

// TestApprovalAfterALoss loses the inventory. The annotations of the objects count, and the policy of the owner.
func TestApprovalAfterALoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := withDeletePolicy("a", "confirm-on-delete") + configMapsNamed("b")
	w.mustApply(manifests)
	w.owner.Inventory = nil
	w.rebuild(reconciler.RebuildRequest{Objects: []client.Object{w.configMap("a")}})
	w.expectHeldDeletion(2, "a")
	w.owner.Inventory = nil
	w.rebuild(reconciler.RebuildRequest{Objects: []client.Object{w.configMap("a")}, Policies: reconciler.Policies{Delete: reconciler.DeletePolicyConfirmOnDelete}})
	w.deletions.Approved = w.expectHeldDeletion(2, "a", "b")
	w.mustDelete()
}

// TestApprovalOfWhatWasReplaced: the approval holds for the objects that are there, not for others with their names,
// and only for one occasion.
func TestApprovalOfWhatWasReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withDeletePolicy("a", "confirm-on-delete"))
	digest := w.expectHeldDeletion(1, "a")
	replaced := w.configMap("a")
	w.remove(replaced)
	replaced.SetUID("")
	replaced.SetResourceVersion("")
	if err := w.client.Create(t.Context(), replaced); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		held, err := w.engine.HeldDeletion(w.Context(), reconciler.DeleteRequest{Owner: w.owner})
		return err == nil && held != nil && held.Digest != digest, "the replaced object is not seen"
	})
	for _, occasion := range []string{"one", "two"} {
		held, err := w.engine.HeldDeletion(w.Context(), reconciler.DeleteRequest{Owner: w.owner, Occasion: occasion})
		if err != nil || held.Digest == w.deletions.Approved {
			t.Errorf("want a digest for each occasion, got %v, %v", held, err)
		}
		w.deletions.Approved = held.Digest
		w.expectHeldDeletion(1, "a")
	}
}

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
	result = w.once(fewer)
	w.expectHeld(result, 4, 1, "b", "c")
	w.expectActions(result)
	w.awaitQuiet(fewer)
	before := len(w.requests.All())
	result, err := w.engine.Apply(t.Context(), w.request(fewer))
	if err != nil {
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
	result := w.once("")
	w.expectHeld(result, 2, 1, "c", "d")
	w.expectActions(result)
	// It renders something again.
	w.expectActions(w.mustApply(configMapsNamed("c")), "Deleted ConfigMap d")
	w.expectInventory("ConfigMap c Ready Current")
	// The deletion of the owner is no matter of the limit.
	w.mustDelete()
	w.expectInventory()
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
	result := w.once("")
	w.deletions.Approved = w.expectHeld(result, 2, 0, "a", "b")
	w.owner.Store = unsaved{}
	if _, err := w.apply(""); err == nil || !strings.Contains(err.Error(), "not saved") {
		t.Errorf("expected the pass to end, got %v", err)
	}
	if w.configMap("a") == nil || w.configMap("b") == nil {
		t.Error("something was deleted before the approval was recorded")
	}
}
