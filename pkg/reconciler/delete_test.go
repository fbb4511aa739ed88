// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const ordered = `
apiVersion: v1
kind: ConfigMap
metadata: {name: early, annotations: {PREFIX/delete-order: "-1"}, finalizers: [example.com/hold]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: late}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: middle}
`

func TestDeletionWavesWaitUntilGone(t *testing.T) {
	t.Parallel()
	for _, redundant := range []bool{false, true} {
		name := "WithOwner"
		if redundant {
			name = "Redundant"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			step := w.delete
			if redundant {
				step = func() (reconciler.Result, error) { return w.apply("") }
			}
			w.mustApply(ordered)
			result, err := step()
			if err != nil {
				t.Fatal(err)
			}
			if got := notices(result.Waits); !strings.Contains(got, "ConfigMap early: being deleted: ") || !strings.Contains(got, "example.com/hold") {
				t.Errorf("expected to learn what holds the object, got %q", got)
			}
			if result.Wave != -1 {
				t.Errorf("expected to be in wave -1, got %d", result.Wave)
			}
			w.expectInventory("ConfigMap early Deleting Terminating", "ServiceAccount middle ScheduledForDeletion Terminating", "ConfigMap late ScheduledForDeletion Terminating")
			drain(w.woken)
			w.patch(w.configMap("early"), `{"metadata":{"finalizers":null}}`)
			w.awaitEvent()
			w.finish(step)
			w.expectInventory()
			if w.configMap("late") != nil {
				t.Error("expected everything to be gone")
			}
		})
	}
}

func TestWantedAgainWhileBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(ordered)
	before := w.configMap("early").GetUID()
	w.once("")
	result := w.once(ordered)
	if got := notices(result.Waits); !strings.Contains(got, "ConfigMap early: being deleted") {
		t.Errorf("expected to wait for the end of the deletion, got %q", got)
	}
	w.patch(w.configMap("early"), `{"metadata":{"finalizers":null}}`)
	w.settle(ordered, done)
	if after := w.configMap("early"); after == nil || after.GetUID() == before {
		t.Error("expected a new object")
	}
	w.patch(w.configMap("early"), `{"metadata":{"finalizers":null}}`)
}

// TestDeletionNamesWhatOthersHaveTakenOver changes the owner ID, as happens when components are restored into another
// cluster, whose ID is part of it.
func TestDeletionNamesWhatOthersHaveTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	restored := w.owner
	restored.ID = "other-" + restored.ID
	result, err := w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: restored})
	// The observer does not know by what name the owner goes.
	if want := "ConfigMap a: belongs to another owner, and is left alone"; err != nil || !result.Done || notices(result.Notes) != want {
		t.Errorf("expected %q, got %v, %q, %v", want, result.Done, notices(result.Notes), err)
	}
	if w.configMap("a") == nil {
		t.Error("what belongs to others is deleted")
	}
}

const deletePolicied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, annotations: {PREFIX/delete-policy: POLICY, PREFIX/apply-order: \"1\"}}\n"

// TestDeletePolicyThatIsNotAppliedYet changes the policy of an object that cannot be written yet, because an earlier
// wave is not ready. The object is deleted only if both policies say so.
func TestDeletePolicyThatIsNotAppliedYet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		applied, declared string
		vanishes          bool // instead of the owner being deleted
		stays             bool
	}{
		{"orphan", "delete", false, true},
		{"delete", "orphan", false, true},
		{"orphan-on-apply", "delete", false, false},
		{"delete", "orphan-on-apply", true, true},
	} {
		t.Run(fmt.Sprintf("%s-%s-%v", tc.applied, tc.declared, tc.vanishes), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(deletePolicied, "POLICY", tc.applied))
			for range 2 { // it is remembered by the record, not by the pass
				result, err := w.apply(unready + "---\n" + strings.ReplaceAll(deletePolicied, "POLICY", tc.declared))
				if err != nil || result.Done {
					t.Fatalf("expected to wait for another object, got %v", err)
				}
			}
			if got := w.configMap("late").GetAnnotations()[prefix+"/delete-policy"]; got != tc.applied {
				t.Fatalf("the new policy is applied: %s", got)
			}
			if tc.vanishes {
				w.mustApply(remaining)
			} else {
				w.mustDelete()
			}
			if there := w.configMap("late") != nil; there != tc.stays {
				t.Errorf("expected it to stay: %v; it is there: %v", tc.stays, there)
			}
		})
	}
}

// TestDeletePolicyThatIsApplied takes effect at once.
func TestDeletePolicyThatIsApplied(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to string
		saves    int // before the write, because the record must not protect less than the object
		stays    bool
	}{
		{"orphan", "delete", 0, false},
		{"delete", "orphan", 1, true},
	} {
		t.Run(tc.from+"-"+tc.to, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(deletePolicied, "POLICY", tc.from))
			saves := w.saves
			changed := strings.ReplaceAll(deletePolicied, "POLICY", tc.to)
			if result, err := w.apply(changed); err != nil || !result.Done {
				t.Fatal(err)
			}
			if got := w.saves - saves; got != tc.saves {
				t.Errorf("expected %d saves besides the one of the caller, got %d", tc.saves, got)
			}
			if got := annotations.Kebab(string(w.owner.Inventory[0].DeletePolicy)); got != tc.to {
				t.Errorf("expected the record to have the policy at once, got %s", got)
			}
			saves = w.saves
			w.mustApply(changed)
			if w.saves != saves {
				t.Error("it is recorded again and again")
			}
			w.mustDelete()
			if there := w.configMap("late") != nil; there != tc.stays {
				t.Errorf("expected it to stay: %v; it is there: %v", tc.stays, there)
			}
		})
	}
}

// propagated is an object that is deleted as POLICY says.
const propagated = `
apiVersion: v1
kind: ConfigMap
metadata: {name: owner, annotations: {PREFIX/delete-propagation: POLICY}}
data: {value: a}
`

// createOwned creates a ConfigMap that another one owns, and that a finalizer keeps.
func (w *world) createOwned(name, owner string) {
	w.Helper()
	object := testenv.Objects(w.TB, w.expand("{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+", namespace: NS, finalizers: [example.com/hold]}}"))[0]
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: w.configMap(owner).GetUID(), BlockOwnerDeletion: new(true),
	}})
	if err := w.client.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// release removes the finalizers of a ConfigMap, if it exists.
func (w *world) release(name string) {
	w.Helper()
	if object := w.configMap(name); object != nil {
		w.patch(object, `{"metadata":{"finalizers":null}}`)
	}
}

// awaitOwned waits until the owned ConfigMap fulfills the condition.
func (w *world) awaitOwned(name string, condition func(deleting bool, owners int) bool) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		object := w.configMap(name)
		return object != nil && condition(object.GetDeletionTimestamp() != nil, len(object.GetOwnerReferences())), "not yet"
	})
}

// TestDeletePropagation deletes an object that owns another one: because it is redundant, with its owner, and to
// recreate it. The process is restarted before and during the deletion, and the manifest is gone by then.
func TestDeletePropagation(t *testing.T) {
	t.Parallel()
	const foreground = "being deleted: waiting for the deletion of the objects that it owns"
	for policy, keeps := range map[string]bool{"background": false, "foreground": true, "orphan": false} {
		for why, end := range map[string]func(*world) (reconciler.Result, error){
			"redundant": func(w *world) (reconciler.Result, error) { return w.apply("") },
			"deleted":   (*world).delete,
		} {
			t.Run(policy+"/"+why, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.mustApply(strings.ReplaceAll(propagated, "POLICY", policy))
				w.createOwned("owned", "owner")
				successor := w.successor()
				if _, err := end(successor); err != nil {
					t.Fatal(err)
				}
				if keeps {
					// The owner stays as long as what it owns, also in the next process.
					w.awaitOwned("owned", func(deleting bool, owners int) bool { return deleting && owners == 1 })
					successor = successor.successor()
					for range 2 {
						if result, err := end(successor); err != nil || result.Done || notices(result.Waits) != "ConfigMap owner: "+foreground {
							t.Fatalf("expected to wait, got %s, %v", notices(result.Waits), err)
						}
					}
					successor.expectInventory("ConfigMap owner Deleting Terminating")
					w.release("owned")
				}
				successor.finish(func() (reconciler.Result, error) { return end(successor) })
				successor.expectInventory()
				if w.configMap("owner") != nil {
					t.Error("the object still exists")
				}
				switch policy {
				case "background":
					w.awaitOwned("owned", func(deleting bool, _ int) bool { return deleting })
				case "orphan":
					w.awaitOwned("owned", func(deleting bool, owners int) bool { return !deleting && owners == 0 })
				}
				w.release("owned")
			})
		}
	}
}

// TestDeletePropagationOnRecreation recreates an object without what it owns, or keeps that.
func TestDeletePropagationOnRecreation(t *testing.T) {
	t.Parallel()
	for policy, kept := range map[string]bool{"background": false, "orphan": true} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := strings.ReplaceAll(propagated, "POLICY", policy+", PREFIX/update-policy: recreate")
			w.mustApply(manifest)
			before := w.configMap("owner").GetUID()
			w.createOwned("owned", "owner")
			w.mustApply(strings.ReplaceAll(manifest, "value: a", "value: b"))
			if w.configMap("owner").GetUID() == before {
				t.Error("the object was not recreated")
			}
			w.awaitOwned("owned", func(deleting bool, owners int) bool { return deleting == !kept && (owners == 0) == kept })
			w.release("owned")
		})
	}
}

// TestDeletePropagationOfTheOwner: the owner has a default, and an annotation says otherwise. Only what differs from
// Background is recorded.
func TestDeletePropagationOfTheOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.DeletePropagation = metav1.DeletePropagationOrphan
	w.mustApply(ownNamespace + strings.ReplaceAll(propagated, "POLICY", "background") + configMapsNamed("other"))
	got := map[string]metav1.DeletionPropagation{}
	for _, item := range w.owner.Inventory {
		got[item.Kind+" "+item.Name] = item.DeletePropagation
	}
	if got["ConfigMap owner"] != "" || got["ConfigMap other"] != metav1.DeletePropagationOrphan || got["Namespace "+w.namespace+"-own"] != "" || len(got) != 3 {
		t.Errorf("recorded: %v", got)
	}
	// A lost record is rebuilt from the annotations, and what they do not say becomes known when the objects are
	// applied.
	w.policies.DeletePropagation = ""
	w.mustApply(strings.ReplaceAll(propagated, "POLICY", "foreground"))
	w.rebuild(reconciler.RebuildRequest{Objects: objects(w, propagated)})
	if len(w.owner.Inventory) != 1 || w.owner.Inventory[0].DeletePropagation != metav1.DeletePropagationForeground {
		t.Errorf("rebuilt: %v", w.owner.Inventory)
	}
}
