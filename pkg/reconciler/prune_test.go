// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// withPrunePolicy returns the manifest of a ConfigMap with a prune policy.
func withPrunePolicy(name, policy string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {PREFIX/prune-policy: " + policy + "}}\ndata: {value: a}\n"
}

// heldBack returns a result with held deletions.
func heldBack(r reconciler.Result) (bool, string) { return r.Held != nil, notices(r.Waits) }

// TestKeptObjects removes the manifests of objects that stay. They stay dependents: they are known to the next process,
// need no requests, may come back, and go with the owner.
func TestKeptObjects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, manifest string
		policy           reconciler.PrunePolicy // of the owner
	}{
		{"annotation", withPrunePolicy("a", "keep"), ""},
		{"owner", configMapsNamed("a"), reconciler.PrunePolicyKeep},
		{"annotation against the owner", withPrunePolicy("a", "keep"), reconciler.PrunePolicyConfirm},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.policies.Prune = tc.policy
			b := withPrunePolicy("b", "delete")
			w.mustApply(tc.manifest + b + configMapsNamed("c"))
			uid := w.configMap("a").GetUID()
			w = w.successor()
			w.expectActions(w.mustApply(configMapsNamed("c")), "Deleted ConfigMap b")
			w.expectInventory("ConfigMap a Kept Current", "ConfigMap c Ready Current")

			// It is left alone, by the next process, too.
			w.patch(w.configMap("a"), `{"data":{"value":"other"}}`)
			w = w.successor()
			w.mustApply(configMapsNamed("c"))
			w.rest(configMapsNamed("c"))
			if diff := diffData(map[string]any{"value": "other"}, w.configMap("a")); diff != "" {
				t.Errorf("a kept object was changed:\n%s", diff)
			}

			w.expectActions(w.mustApply(tc.manifest+configMapsNamed("c")), "Updated ConfigMap a")
			w.expectInventory("ConfigMap a Ready Current", "ConfigMap c Ready Current")
			if w.configMap("a").GetUID() != uid {
				t.Error("a kept object was recreated")
			}

			w.mustApply(configMapsNamed("c"))
			w.mustDelete()
			w.expectInventory()
			if w.configMap("a") != nil {
				t.Error("a kept object stays without its owner")
			}
		})
	}
}

// TestConfirmedDeletions holds what demands approval, and nothing else, until exactly that is approved.
func TestConfirmedDeletions(t *testing.T) {
	t.Parallel()
	for reason, policy := range map[string]reconciler.PrunePolicy{"annotation": "", "owner": reconciler.PrunePolicyConfirm} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.policies.Prune = policy
			manifest := withPrunePolicy("a", "confirm")
			if policy != "" {
				manifest = configMapsNamed("a")
			}
			w.mustApply(manifest + withPrunePolicy("b", "delete") + configMapsNamed("c"))
			w = w.successor()
			result := w.settle(configMapsNamed("c"), heldBack)
			w.expectActions(result, "Deleted ConfigMap b")
			digest := w.expectHeld(result, 2, 0, "a")
			if got := result.Held.String(); got != "1 of 2 dependents would be deleted, which needs approval because of the prune policy" {
				t.Errorf("got %q", got)
			}
			w = w.successor()
			w.settle(configMapsNamed("c"), heldBack)
			w.expectInventory("ConfigMap a ScheduledForDeletion Terminating", "ConfigMap c Ready Current")
			w.deletions.Approved = "other"
			w.settle(configMapsNamed("c"), heldBack)
			w.deletions.Approved = digest
			w.expectActions(w.mustApply(configMapsNamed("c")), "Deleted ConfigMap a")
			w.expectInventory("ConfigMap c Ready Current")
		})
	}
}

// TestLostPrunePolicies: a record that lost the policy does not get the object deleted, because the annotation in the
// cluster counts.
func TestLostPrunePolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withPrunePolicy("a", "keep") + withPrunePolicy("b", "confirm"))
	forget := func() {
		for _, item := range w.owner.Inventory {
			item.PrunePolicy = ""
		}
	}
	forget()
	w.expectHeld(w.settle("", heldBack), 1, 0, "b")
	w.expectInventory("ConfigMap a Kept Current", "ConfigMap b ScheduledForDeletion Terminating")
	forget()
	w.expectHeld(w.successor().settle("", heldBack), 1, 0, "b")
	w.mustDelete()
	w.expectInventory()
}

// withinOwn is a ConfigMap in a namespace that is declared, too.
func withinOwn(policy string) string {
	return ownNamespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS-own, annotations: {PREFIX/prune-policy: " + policy + "}}\n"
}

// TestWhatContainsKeptObjectsStays: a redundant namespace, and a redundant definition, would take what stays along.
// Nothing waits for them.
func TestWhatContainsKeptObjectsStays(t *testing.T) {
	t.Parallel()
	t.Run("namespace", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.mustApply(withinOwn("keep"))
		w.mustApply("")
		w = w.successor()
		w.mustApply("")
		w.expectInventory("ConfigMap a Kept Current", "Namespace NS-own Kept Current")
		if got := w.get("v1", "Namespace", w.namespace+"-own"); got == nil || got.GetDeletionTimestamp() != nil {
			t.Error("the namespace was deleted")
		}
		// It goes when nothing stays in it any more.
		w.remove(testenv.Object(t, w.expand("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS-own}}")))
		w.settle("", func(reconciler.Result) (bool, string) {
			return len(w.owner.Inventory) == 0, strings.Join(w.inventory(), ", ")
		})
	})
	t.Run("held", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.mustApply(withinOwn("confirm"))
		result := w.settle("", func(r reconciler.Result) (bool, string) { return r.Held != nil && len(r.Waits) == 0, notices(r.Waits) })
		w.deletions.Approved = w.expectHeld(result, 1, 0, "a")
		if got := w.get("v1", "Namespace", w.namespace+"-own"); got == nil || got.GetDeletionTimestamp() != nil {
			t.Error("the namespace was deleted")
		}
		w.mustApply("")
		w.expectInventory()
	})
	t.Run("definition", func(t *testing.T) {
		t.Parallel()
		ty := newTyped(t)
		ty.mustApply(ty.expand(customType + "---" + strings.Replace(strings.ReplaceAll(widget, "NAME", "own"), "{name: own}", "{name: own, annotations: {PREFIX/prune-policy: keep}}", 1)))
		ty.mustApply("")
		ty.expectInventory("CustomResourceDefinition widgets."+ty.crdName()+" Kept Current", "Widget own Kept Current")
		ty.mustDelete()
	})
}

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

// TestPruneAtWaves deletes redundant objects between the waves, and waits until they are gone, also in the next
// process.
func TestPruneAtWaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.PruneAt = reconciler.PruneAtWaves
	w.mustApply(inWaves("drop-first", 0, -10) + inWaves("drop-middle", 0, 5) + inWaves("drop-last", 0, 10))
	w.patch(w.configMap("drop-middle"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
	next := inWaves("zero", 0, 0) + inWaves("five", 5, 0) + inWaves("seven", 7, 0)
	w = w.successor()
	waits := func(r reconciler.Result) (bool, string) { return len(r.Waits) > 0, "nothing is awaited" }
	if result := w.settle(next, waits); result.Wave != 5 || !strings.HasPrefix(notices(result.Waits), "ConfigMap drop-middle: being deleted") {
		t.Errorf("want the deletion to be awaited in wave 5, got wave %d: %s", result.Wave, notices(result.Waits))
	}
	if diff := cmp.Diff([]string{"DELETE drop-first", "PATCH zero", "DELETE drop-middle"}, w.changed(0)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w = w.successor()
	w.settle(next, waits)
	w.release("drop-middle")
	w.mustApply(next)
	if diff := cmp.Diff([]string{"PATCH five", "PATCH seven", "DELETE drop-last"}, w.changed(0)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w.expectInventory("ConfigMap five Ready Current", "ConfigMap seven Ready Current", "ConfigMap zero Ready Current")

	request := w.request(inWaves("three", 3, 0))
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

// TestPrunePolicyThatIsNotAppliedYet: the policy that was applied last counts.
func TestPrunePolicyThatIsNotAppliedYet(t *testing.T) {
	t.Parallel()
	for _, applied := range []string{"keep", "confirm"} {
		t.Run(applied, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			late := func(policy string) string {
				return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, annotations: {PREFIX/apply-order: \"5\", PREFIX/prune-policy: " + policy + "}}\n"
			}
			w.mustApply(late(applied))
			for range 2 {
				if result, err := w.apply(unready + late("delete")); err != nil || result.Done {
					t.Fatal(err, result.Done)
				}
			}
			if got := w.configMap("late").GetAnnotations()[prefix+"/prune-policy"]; got != applied {
				t.Fatal("it was applied")
			}
			for range 3 {
				w.once("")
			}
			if w.configMap("late") == nil {
				t.Error("it was deleted although the policy that was applied last is " + applied)
			}
		})
	}
}

const released = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/delete-policy: POLICY}}\n---\n" + remaining

const remaining = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"

// TestVanishedObjectIsJudgedAsSuch deletes the owner while a redundant object still exists, because others are not
// ready yet. The delete policy counts for an object that was removed from the manifests, not for one whose owner is
// deleted.
func TestVanishedObjectIsJudgedAsSuch(t *testing.T) {
	t.Parallel()
	for policy, stays := range map[string]bool{"delete": false, "orphan": true, "orphan-on-apply": true, "orphan-on-delete": false} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(released, "POLICY", policy))
			result, err := w.apply(remaining + "---\n" + strings.ReplaceAll(unready, "name: a", "name: c"))
			if err != nil || result.Done {
				t.Fatalf("expected to wait for another object, got %v", err)
			}
			if w.configMap("a") == nil {
				t.Fatal("what vanished goes when all others are ready")
			}
			w.mustDelete()
			if there := w.configMap("a") != nil; there != stays {
				t.Errorf("expected it to stay: %v; it is there: %v", stays, there)
			}
		})
	}
}

// mortal returns another process at work for the same owner, which dies after the given number of writes. What it saves
// is recorded.
func (w *world) mortal(survived int) *world {
	w.Helper()
	mortal := w.restart(func(s *setup) { s.config, _ = testenv.Dying(s.config, survived) }, withOptions(func(o *reconciler.Options) { o.MaxConcurrency = 1 }))
	mortal.owner.Store = w
	return mortal
}
