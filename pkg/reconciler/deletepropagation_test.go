// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

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

// TestDeletePropagation deletes an object that owns another one: because it is redundant, with its owner, and to recreate it. The process is
// restarted before and during the deletion, and the manifest is gone by then.
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
				heir := w.heir()
				result, err := end(heir)
				if err != nil {
					t.Fatal(err)
				}
				if keeps {
					// The owner stays as long as what it owns, also in the next process.
					w.awaitOwned("owned", func(deleting bool, owners int) bool { return deleting && owners == 1 })
					heir = heir.heir()
					for range 2 {
						if result, err = end(heir); err != nil || result.Done || notices(result.Waits) != "ConfigMap owner: "+foreground {
							t.Fatalf("expected to wait, got %s, %v", notices(result.Waits), err)
						}
					}
					heir.expectInventory("ConfigMap owner Deleting Terminating")
					w.release("owned")
				}
				testenv.Eventually(t, func() (bool, string) {
					result, err = end(heir)
					if err != nil {
						return false, err.Error()
					}
					return result.Done, notices(result.Waits)
				})
				heir.expectInventory()
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

// TestDeletePropagationOfTheOwner: the owner has a default, and an annotation says otherwise. Only what differs from Background is recorded.
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
	// A lost record is rebuilt from the annotations, and what they do not say becomes known when the objects are applied.
	w.policies.DeletePropagation = ""
	w.mustApply(strings.ReplaceAll(propagated, "POLICY", "foreground"))
	w.rebuild(reconciler.RebuildRequest{Objects: objects(w, propagated)})
	if len(w.owner.Inventory) != 1 || w.owner.Inventory[0].DeletePropagation != metav1.DeletePropagationForeground {
		t.Errorf("rebuilt: %v", w.owner.Inventory)
	}
}

// TestRefusedDeletePropagations names object, value and what is allowed. What namespaces contain, and definitions define, goes with them in any case.
func TestRefusedDeletePropagations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.apply(strings.ReplaceAll(propagated, "POLICY", "none"))
	w.expectRefusal(err, `ConfigMap NS/owner: annotation PREFIX/delete-propagation: invalid value "none"; must be one of: background, foreground, orphan`)
	for _, header := range []string{"apiVersion: v1, kind: Namespace", "apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition", "apiVersion: apiregistration.k8s.io/v1, kind: APIService"} {
		manifest := "{" + header + ", metadata: {name: NS-own, annotations: {PREFIX/delete-propagation: POLICY}}}"
		for _, policy := range []string{"foreground", "orphan"} {
			_, err = w.apply(strings.ReplaceAll(manifest, "POLICY", policy))
			w.expectRefusal(err, "NS-own: delete propagation "+policy+" is not allowed on objects of this kind; must be background")
		}
	}
	w.policies.DeletePropagation = "none"
	_, err = w.apply(configMapsNamed("other"))
	w.expectRefusal(err, `delete propagation: invalid value "none"; must be one of: background, foreground, orphan`)
}

// TestDeletePropagationCostsNothing: the deletion of an object that owns nothing takes the same requests without the annotation and with its default.
func TestDeletePropagationCostsNothing(t *testing.T) {
	t.Parallel()
	var made [2][]string
	for i, annotations := range []string{"{}", "{PREFIX/delete-propagation: background}"} {
		w := newWorld(t)
		w.mustApply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: " + annotations + "}}")
		before := len(w.writes())
		w.mustApply("")
		made[i] = w.writes()[before:]
		for j := range made[i] {
			made[i][j] = strings.ReplaceAll(made[i][j], w.namespace, "NS")
		}
	}
	if !slices.Equal(made[0], made[1]) || len(made[0]) == 0 {
		t.Errorf("requests differ: %v, %v", made[0], made[1])
	}
}
