// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// withPrunePolicy returns the manifest of a ConfigMap with a prune policy.
func withPrunePolicy(name, policy string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {PREFIX/prune-policy: " + policy + "}}\ndata: {value: a}\n"
}

// heldBack returns a result with held deletions.
func heldBack(r reconciler.Result) (bool, string) { return r.Held != nil, notices(r.Waits) }

// TestKeptObjects removes the manifests of objects that stay. They stay dependents: they are known to the next process, need no requests, may come back,
// and go with the owner.
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
			w = w.heir()
			w.expectActions(w.mustApply(configMapsNamed("c")), "Deleted ConfigMap b")
			w.expectInventory("ConfigMap a Kept Current", "ConfigMap c Ready Current")

			// It is left alone, by the next process, too.
			w.patch(w.configMap("a"), `{"data":{"value":"other"}}`)
			w = w.heir()
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

// TestKeptObjectsThatOthersDelete are not dependents any more.
func TestKeptObjectsThatOthersDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withPrunePolicy("a", "keep"))
	w.mustApply("")
	w.expectInventory("ConfigMap a Kept Current")
	w.remove(w.configMap("a"))
	w.settle("", func(reconciler.Result) (bool, string) { return len(w.owner.Inventory) == 0, "a is still recorded" })
}

// TestPrunePolicyOfTheOwnerChanges: what the owner keeps goes when it keeps nothing any more. The annotation of an object does not change with that.
func TestPrunePolicyOfTheOwnerChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.Prune = reconciler.PrunePolicyKeep
	w.mustApply(configMapsNamed("a") + withPrunePolicy("b", "keep"))
	w.mustApply("")
	w.expectInventory("ConfigMap a Kept Current", "ConfigMap b Kept Current")
	w.policies.Prune = reconciler.PrunePolicyDelete
	w.expectActions(w.mustApply(""), "Deleted ConfigMap a")
	w.expectInventory("ConfigMap b Kept Current")
}

// TestKeptObjectsAreOrphanedAsTheySay: policies for the deletion of the owner hold for kept objects, and those for redundant objects come first.
func TestKeptObjectsAreOrphanedAsTheySay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.Prune = reconciler.PrunePolicyKeep
	annotated := func(name, policy string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {PREFIX/delete-policy: " + policy + "}}\n"
	}
	w.mustApply(annotated("a", "orphan-on-delete") + annotated("b", "orphan-on-apply") + annotated("c", "orphan"))
	w.expectActions(w.mustApply(""), "Orphaned ConfigMap b", "Orphaned ConfigMap c")
	w.expectInventory("ConfigMap a Kept Current")
	w.mustDelete()
	if w.configMap("a") == nil {
		t.Error("a was deleted with its owner")
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
			w = w.heir()
			result := w.settle(configMapsNamed("c"), heldBack)
			w.expectActions(result, "Deleted ConfigMap b")
			digest := w.expectHeld(result, 2, 0, "a")
			if got := result.Held.String(); got != "1 of 2 dependents would be deleted, which needs approval because of the prune policy" {
				t.Errorf("got %q", got)
			}
			w = w.heir()
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

// TestConfirmationAndLimit: if there are more than may be deleted, all are held together, and one approval suffices.
func TestConfirmationAndLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deletions.Max = "1"
	w.mustApply(withPrunePolicy("a", "confirm") + configMapsNamed("b", "c", "d"))
	result := w.settle(configMapsNamed("c", "d"), heldBack)
	if w.expectHeld(result, 4, 1, "a", "b"); result.Held.Confirm {
		t.Error("expected the limit to be the reason")
	}
	result = w.settle(configMapsNamed("b", "c", "d"), heldBack)
	if w.expectHeld(result, 4, 0, "a"); !result.Held.Confirm {
		t.Error("expected the policy to be the reason")
	}
	result = w.settle(configMapsNamed("c", "d"), heldBack)
	w.deletions.Approved = w.expectHeld(result, 4, 1, "a", "b")
	w.expectActions(w.mustApply(configMapsNamed("c", "d")), "Deleted ConfigMap a", "Deleted ConfigMap b")
}

// TestLostPrunePolicies: a record that lost the policy does not get the object deleted, because the annotation in the cluster counts.
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
	w.expectHeld(w.heir().settle("", heldBack), 1, 0, "b")
	w.mustDelete()
	w.expectInventory()
}

// TestRebuiltPrunePolicies reads the policies from the objects after the record was lost.
func TestRebuiltPrunePolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withPrunePolicy("a", "keep"))
	w.rebuild(reconciler.RebuildRequest{Objects: objects(w, configMapsNamed("a"))})
	if len(w.owner.Inventory) != 1 || w.owner.Inventory[0].PrunePolicy != reconciler.PrunePolicyKeep {
		t.Fatalf("rebuilt: %v", w.owner.Inventory)
	}
	w.mustApply("")
	w.expectInventory("ConfigMap a Kept Current")
}

// withinOwn is a ConfigMap in a namespace that is declared, too.
func withinOwn(policy string) string {
	return ownNamespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS-own, annotations: {PREFIX/prune-policy: " + policy + "}}\n"
}

// TestWhatContainsKeptObjectsStays: a redundant namespace, and a redundant definition, would take what stays along. Nothing waits for them.
func TestWhatContainsKeptObjectsStays(t *testing.T) {
	t.Parallel()
	t.Run("namespace", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.mustApply(withinOwn("keep"))
		w.mustApply("")
		w = w.heir()
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

// TestRefusedPrunePolicies names object, value and what is allowed.
func TestRefusedPrunePolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.apply(withPrunePolicy("a", "never"))
	w.expectRefusal(err, `ConfigMap NS/a: annotation PREFIX/prune-policy: invalid value "never"; must be one of: delete, keep, confirm`)
	w.policies.Prune = "Never"
	_, err = w.apply(configMapsNamed("b"))
	w.expectRefusal(err, `prune policy: invalid value "Never"; must be one of: delete, keep, confirm`)
}
