// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// forge adds an item to the inventory that denotes an object of others.
func (w *world) forge(object *unstructured.Unstructured, phase reconciler.Phase, policy reconciler.DeletePolicy) {
	gvk := object.GroupVersionKind()
	w.owner.Inventory = append(slices.Clone(w.owner.Inventory), &reconciler.InventoryItem{
		TypeVersionInfo: reconciler.TypeVersionInfo(gvk),
		NameInfo:        reconciler.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		AdoptionPolicy:  reconciler.AdoptionPolicyIfUnowned, ReconcilePolicy: reconciler.ReconcilePolicyOnObjectChange,
		UpdatePolicy: reconciler.UpdatePolicyReplace, DeletePolicy: policy,
		Digest: "2:0", Phase: phase, UID: object.GetUID(), Fingerprint: "0123456789abcdef", Baseline: "rv" + object.GetResourceVersion(),
	})
}

// TestForgedItemsAreForgotten has a user who may only write the record put objects of others into it.
func TestForgedItemsAreForgotten(t *testing.T) {
	t.Parallel()
	const own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"
	const forgotten = "is recorded as a dependent, but has neither the owner label nor fields of the field manager of its owner, and is left alone"
	for _, phase := range []reconciler.Phase{reconciler.PhaseReady, reconciler.PhaseDeleting, reconciler.PhaseScheduledForDeletion} {
		for _, policy := range []reconciler.DeletePolicy{reconciler.DeletePolicyDelete, reconciler.DeletePolicyOrphan} {
			t.Run(fmt.Sprintf("%s%s", phase, policy), func(t *testing.T) {
				t.Parallel()
				w, elsewhere := newWorld(t), newWorld(t)
				elsewhere.create("apiVersion: v1\nkind: Secret\nmetadata: {name: theirs}\nstringData: {a: b}\n")
				before := elsewhere.get("v1", "Secret", "theirs")
				w.mustApply(own)
				w.forge(before, phase, policy)
				result, err := w.engine.Apply(t.Context(), w.request(own))
				w.owner.Inventory = result.Inventory
				if diff := cmp.Diff("Secret theirs: "+forgotten, notices(result.Notes)); diff != "" || err != nil || !result.Done {
					t.Errorf("%v, done: %v, notes (-want +got):\n%s", err, result.Done, diff)
				}
				w.expectActions(result)
				w.expectInventory("ConfigMap own Ready Current")
				w.forge(before, phase, policy)
				w.expectPlan(w.plan(own, compare), "0 - ConfigMap NS/own", "0 - Secret "+elsewhere.namespace+"/theirs: is no longer in the manifests; it "+forgotten)
				w.mustDelete()
				if diff := cmp.Diff(before, elsewhere.get("v1", "Secret", "theirs")); diff != "" {
					t.Errorf("another owner's object was changed (-before +after):\n%s", diff)
				}
				if writes := slices.DeleteFunc(w.writes(), func(line string) bool { return !strings.Contains(line, "secrets") }); len(writes) > 0 {
					t.Errorf("expected no writes, got %v", writes)
				}
			})
		}
	}
}

// TestForgedItemDoesNotStandForAdoption has a user record an existing object as written.
func TestForgedItemDoesNotStandForAdoption(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: never, PURGE}}\ndata: {value: ours}\n"
	for name, tc := range map[string]struct {
		annotation string
		phase      reconciler.Phase
	}{
		"Ready":     {"x: z", reconciler.PhaseReady},
		"Scheduled": {"x: z", reconciler.PhaseScheduledForApplication},
		"Recreate":  {"PREFIX/update-policy: recreate", reconciler.PhaseScheduledForApplication},
		"Failed":    {`PREFIX/purge-on-failure: "true"`, reconciler.PhaseFailed},
		"Purged":    {`PREFIX/purge-order: "0"`, reconciler.PhaseScheduledForCompletion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := strings.ReplaceAll(manifest, "PURGE", tc.annotation)
			w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: theirs}\n")
			before := w.configMap("a")
			digest := w.plan(manifest, reconciler.PlanOptions{}).Inventory[0].Digest
			w.forge(before, tc.phase, reconciler.DeletePolicyDelete)
			w.owner.Inventory[0].Digest = digest
			if _, err := w.apply(manifest); err != nil {
				w.expectRefusal(err, "ConfigMap NS/a: already exists and has no owner, but its adoption policy is never")
			}
			if diff := cmp.Diff(before, w.configMap("a")); diff != "" {
				t.Errorf("another owner's object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestRebuildSparesCopies loses the record after a user has exported and imported a dependent with its labels and annotations.
func TestRebuildSparesCopies(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: a}\n"
	w := newWorld(t)
	w.mustApply(manifest)
	copied := w.configMap("a")
	copied.SetName("copy")
	copied.SetUID("")
	copied.SetResourceVersion("")
	copied.SetManagedFields(nil)
	w.createAs(copied, "kubectl-create")
	result := w.rebuild(reconciler.RebuildRequest{Objects: objects(w, manifest)})
	if diff := cmp.Diff([]string{"ConfigMap a Ready "}, w.inventory()); diff != "" || result.Found != 1 {
		t.Errorf("%d found (-want +got):\n%s", result.Found, diff)
	}
	w.mustApply(manifest)
	w.rebuild(reconciler.RebuildRequest{Types: []reconciler.TypeVersionInfo{{Version: "v1", Kind: "ConfigMap"}}})
	w.mustDelete()
	if w.configMap("a") != nil {
		t.Error("a dependent is left behind")
	}
	if w.configMap("copy") == nil {
		t.Error("a copy of a dependent was deleted")
	}
}

// TestRebuildFindsWhatTheAncestorWrote has a dependent that was written by an update, and changed by others since.
func TestRebuildFindsWhatTheAncestorWrote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifest := w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS, labels: {PREFIX/owner-id: " + digest.OwnerLabel(w.owner.ID) +
		"}, annotations: {PREFIX/owner-id: " + w.owner.ID + "}}\ndata: {value: a}\n")
	w.createAs(testenv.Object(t, manifest), prefix)
	w.patch(w.configMap("a"), `{"data":{"key":"value"}}`)
	if result := w.rebuild(reconciler.RebuildRequest{Types: []reconciler.TypeVersionInfo{{Version: "v1", Kind: "ConfigMap"}}}); result.Found != 1 {
		t.Errorf("%d found", result.Found)
	}
}

// TestUnlabelledDependentsGo deletes dependents whose owner label others have removed.
func TestUnlabelledDependentsGo(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	w := newWorld(t)
	w.mustApply(manifest)
	w.patch(w.configMap("a"), `{"metadata":{"labels":{"PREFIX/owner-id":null},"annotations":{"PREFIX/owner-id":null}}}`)
	w.requests.Reset()
	w.mustDelete()
	if w.configMap("a") != nil {
		t.Error("a dependent is left behind")
	}
	if n := w.requests.Count(func(request testenv.Request) bool { return request.Method == http.MethodGet && !request.IsWatch() }); n > 2 {
		t.Errorf("expected one read, got:\n%s", w.requests)
	}
}

// createAs creates an object as the given field manager.
func (w *world) createAs(object *unstructured.Unstructured, manager string) {
	w.Helper()
	if err := w.client.Create(w.Context(), object, client.FieldOwner(manager)); err != nil {
		w.Fatal(err)
	}
}
