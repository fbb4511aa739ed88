// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

const suspendable = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: database}
spec:
  replicas: 1
  selector: {matchLabels: {app: database}}
  template:
    metadata: {labels: {app: database}}
    spec: {containers: [{name: main, image: example.com/none}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, annotations: {PREFIX/apply-order: "1"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: main, image: example.com/none}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cache, annotations: {PREFIX/apply-order: "1"}}
`

// toZero scales a Deployment down.
var toZero = behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
	return unstructured.SetNestedField(manifest.Object, int64(0), "spec", "replicas")
})

// withSuspension attaches behaviors to objects, by their names.
func withSuspension(w *world, manifests string, attached map[string]any) []client.Object {
	list := objects(w, manifests)
	for i, object := range list {
		if behavior := attached[object.GetName()]; behavior != nil {
			list[i] = behaviors.Attach(object, behavior)
		}
	}
	return list
}

var usualSuspension = map[string]any{"database": toZero, "shop": toZero, "cache": behaviors.DeletedOnSuspend{}}

// suspendOnce makes one pass that suspends.
func (w *world) suspendOnce(manifests string, attached map[string]any) (reconciler.Result, error) {
	w.Helper()
	w.suspend = true
	defer func() { w.suspend = false }()
	return w.applyObjects(withSuspension(w, manifests, attached))
}

// suspended makes passes until everything is suspended.
func (w *world) suspended(manifests string, attached map[string]any) reconciler.Result {
	w.Helper()
	return w.suspendedObjects(func() []client.Object { return withSuspension(w, manifests, attached) })
}

// suspendedObjects is suspended for objects that are generated for each pass.
func (w *world) suspendedObjects(generate func() []client.Object) reconciler.Result {
	w.Helper()
	w.suspend = true
	defer func() { w.suspend = false }()
	var all reconciler.Result
	w.settleObjects(generate, func(result reconciler.Result) (bool, string) {
		all.Actions = append(all.Actions, result.Actions...)
		return result.Done, notices(result.Waits)
	})
	return all
}

func (w *world) replicas(name string) int64 {
	w.Helper()
	replicas, _, _ := unstructured.NestedInt64(w.get("apps/v1", "Deployment", name).Object, "spec", "replicas")
	return replicas
}

// TestSuspensionDeletesInOrder: objects that are deleted when they are suspended go in their delete order, one after the other.
func TestSuspensionDeletesInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests, attached := "", map[string]any{}
	for name, order := range map[string]string{"a": "2", "b": "-1", "c": "1"} {
		manifests += "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {PREFIX/delete-order: \"" + order + "\"}}\n---\n"
		attached[name] = behaviors.DeletedOnSuspend{}
	}
	w.settleObjects(func() []client.Object { return withSuspension(w, manifests, attached) }, done)
	w.requests.Reset()
	w.suspended(manifests, attached)
	if got := w.requested(http.MethodDelete); got != "b c a" {
		t.Errorf("deleted in the order %s", got)
	}
	w.mustDelete()
}

// TestSuspensionDoesNotRecreate: suspended forms, and what follows them, are applied in place, even if changes of the manifest recreate the object.
func TestSuspensionDoesNotRecreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifest := strings.ReplaceAll(suspendable, `PREFIX/apply-order: "1"`, `PREFIX/update-policy: recreate`)
	attached := map[string]any{"shop": toZero}
	everything := func() []client.Object { return withSuspension(w, manifest, attached) }
	w.settleObjects(everything, done)
	uid := w.get("apps/v1", "Deployment", "shop").GetUID()
	w.suspended(manifest, attached)
	if w.replicas("shop") != 0 {
		t.Error("not suspended")
	}
	// The record says that the object is to be resumed when the process ends, and no longer that it was suspended.
	mortal := w.restart(func(s *setup) { s.config = dying(s.config, 0) })
	testenv.Eventually(t, func() (bool, string) {
		result, err := mortal.applyObjects(everything())
		return err != nil, notices(result.Waits)
	})
	if i := slices.IndexFunc(mortal.owner.Inventory, func(item *reconciler.InventoryItem) bool { return item.Name == "shop" }); strings.Contains(mortal.owner.Inventory[i].Digest, "suspended") {
		t.Fatalf("expected a record without a suspended form, got %v", mortal.owner.Inventory[i])
	}
	mortal.engine.Close()
	heir := mortal.restart()
	heir.settleObjects(everything, done)
	if w.replicas("shop") == 0 || w.get("apps/v1", "Deployment", "shop").GetUID() != uid {
		t.Error("the Deployment was recreated, or not resumed")
	}
	heir.mustDelete()
}

// TestSuspension suspends, rests, and resumes, with a restart in between.
func TestSuspension(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	everything := func() []client.Object { return withSuspension(w, suspendable, usualSuspension) }
	w.settleObjects(everything, done)
	all := w.suspended(suspendable, usualSuspension)
	w.expectActions(all, "Updated Deployment shop", "Deleted ConfigMap cache", "Updated Deployment database")
	if w.replicas("database") != 0 || w.replicas("shop") != 0 || w.configMap("cache") != nil || w.configMap("settings") == nil {
		t.Errorf("%v", w.inventory())
	}
	// What has no suspended form is left alone.
	w.patch(w.configMap("settings"), `{"data":{"a":"c"}}`)
	w.requests.Reset()
	w.expectActions(w.suspended(suspendable, usualSuspension))
	if all := w.requests.All(); len(all) > 0 {
		t.Errorf("at rest: %v", all)
	}
	heir := w.restart()
	heir.expectActions(heir.suspended(suspendable, usualSuspension))
	// Others cannot wake what is suspended.
	w.patch(w.get("apps/v1", "Deployment", "shop"), `{"spec":{"replicas":3}}`)
	heir.settleSuspended(func(result reconciler.Result) bool {
		return slices.Contains(actions(result), "Corrected Deployment shop")
	})
	var resumed reconciler.Result
	heir.settleObjects(everything, func(result reconciler.Result) (bool, string) {
		resumed.Actions = append(resumed.Actions, result.Actions...)
		return result.Done, notices(result.Waits)
	})
	heir.expectActions(resumed, "Corrected ConfigMap settings", "Updated Deployment database", "Created ConfigMap cache", "Updated Deployment shop")
	if w.replicas("database") != 1 || w.replicas("shop") != 2 || w.configMap("cache") == nil {
		t.Errorf("%v", heir.inventory())
	}
	heir.mustDelete()
}

// settleSuspended makes passes that suspend until condition holds and everything is suspended.
func (w *world) settleSuspended(condition func(reconciler.Result) bool) {
	w.Helper()
	w.suspend = true
	defer func() { w.suspend = false }()
	seen := false
	w.settleObjects(func() []client.Object { return withSuspension(w, suspendable, usualSuspension) }, func(result reconciler.Result) (bool, string) {
		seen = seen || condition(result)
		return seen && result.Done, notices(result.Waits)
	})
}

// TestSuspensionGoesBackwards waits for a wave before the one below it begins, and names what it waits for.
func TestSuspensionGoesBackwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settleObjects(func() []client.Object { return withSuspension(w, suspendable, usualSuspension) }, done)
	w.patch(w.configMap("cache"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
	for range 2 {
		result, err := w.suspendOnce(suspendable, usualSuspension)
		if err != nil || result.Done {
			t.Fatalf("expected to wait, got %v", err)
		}
	}
	if w.replicas("database") != 1 {
		t.Error("the database was suspended before the shop and its cache")
	}
	w.patch(w.configMap("cache"), `{"metadata":{"finalizers":null}}`)
	w.suspended(suspendable, usualSuspension)
	if w.replicas("database") != 0 {
		t.Error("the database is not suspended")
	}
	w.mustDelete()
}

// TestSuspendedFromTheBeginning creates nothing.
func TestSuspendedFromTheBeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.expectActions(w.suspended(suspendable, usualSuspension))
	if w.configMap("settings") != nil || w.get("apps/v1", "Deployment", "shop") != nil {
		t.Error("something was created")
	}
	w.mustDelete()
}

// TestSuspensionOfWhatDoesNotWork suspends although nothing becomes ready.
func TestSuspensionOfWhatDoesNotWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := strings.ReplaceAll(suspendable, "{containers:", "{nodeSelector: {there-is: none}, containers:")
	if _, err := w.applyObjects(withSuspension(w, broken, usualSuspension)); err != nil {
		t.Fatal(err)
	}
	w.suspended(broken, usualSuspension)
	if w.replicas("database") != 0 {
		t.Error("the database is not suspended")
	}
	w.mustDelete()
}

// TestBadSuspensions refuses what cannot be suspended, and names errors.
func TestBadSuspensions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.suspendOnce(suspendable, map[string]any{"shop": behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
		manifest.SetName("other")
		return nil
	})})
	w.expectRefusal(err, "shop", "its suspended form is", "announced")
	_, err = w.suspendOnce(suspendable, map[string]any{"shop": behaviors.Suspend(func(*unstructured.Unstructured) error { return errors.New("not now") })})
	if err == nil || !strings.Contains(err.Error(), "shop: its suspended form cannot be made: not now") {
		t.Errorf("got %v", err)
	}
	namespace := "{apiVersion: v1, kind: Namespace, metadata: {name: NS-vanishing}}"
	_, err = w.applyObjects([]client.Object{behaviors.Attach(objects(w, namespace)[0], behaviors.DeletedOnSuspend{})})
	w.expectRefusal(err, "vanishing", "cannot be deleted when it is suspended")
}

// TestDeathWhileSuspending ends the process at each write of a suspension. The next one finishes it, or resumes.
func TestDeathWhileSuspending(t *testing.T) {
	t.Parallel()
	for survived := range 3 {
		for _, resumed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, resumed: %v", survived, resumed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				everything := func() []client.Object { return withSuspension(w, suspendable, usualSuspension) }
				w.settleObjects(everything, done)
				mortal := w.restart(func(s *setup) { s.config = dying(s.config, survived) })
				testenv.Eventually(t, func() (bool, string) {
					result, err := mortal.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: mortal.owner, Objects: everything(), Digest: w.digest, Suspend: true})
					if result.Done {
						t.Fatal("the process has survived")
					}
					return err != nil, notices(result.Waits)
				})
				mortal.engine.Close()
				heir := mortal.restart()
				if !resumed {
					heir.suspended(suspendable, usualSuspension)
					if w.replicas("database") != 0 || w.replicas("shop") != 0 || w.configMap("cache") != nil || w.configMap("settings") == nil {
						t.Errorf("%v", heir.inventory())
					}
				}
				heir.settleObjects(everything, done)
				if w.replicas("database") != 1 || w.replicas("shop") != 2 || w.configMap("cache") == nil {
					t.Errorf("%v", heir.inventory())
				}
				heir.mustDelete()
			})
		}
	}
}

// TestSuspensionOfLateManifests suspends an object that needs data of another one, which is deleted then.
func TestSuspensionOfLateManifests(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: source}
data: {value: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: user, annotations: {PREFIX/apply-order: "1"}}
`
	flow := func(w *world) func() []client.Object {
		return func() []client.Object {
			var value string
			list := objects(w, manifests)
			list[0] = behaviors.Attach(list[0], behaviors.DeletedOnSuspend{}, behaviors.Extract(func(source *unstructured.Unstructured) error {
				value, _, _ = unstructured.NestedString(source.Object, "data", "value")
				return nil
			}))
			list[1] = behaviors.Attach(list[1], behaviors.Complete(func(manifest *unstructured.Unstructured) error {
				if value == "" {
					return errors.New("there is no value")
				}
				return unstructured.SetNestedField(manifest.Object, value, "data", "constant")
			}), behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
				return unstructured.SetNestedField(manifest.Object, "yes", "data", "suspended")
			}))
			return list
		}
	}
	w := newWorld(t)
	user := func() string {
		data, _, _ := unstructured.NestedStringMap(w.configMap("user").Object, "data")
		return data["constant"] + "," + data["suspended"]
	}
	w.settleObjects(flow(w), done)

	w.quiesce()
	w.patch(w.configMap("source"), `{"data":{"value":"b"}}`)
	w.awaitEvent()
	w.suspendedObjects(flow(w))
	if got := user(); got != "b,yes" || w.configMap("source") != nil {
		t.Errorf("expected the user to be suspended before the source, got %s", got)
	}

	// Nobody has the data any more.
	heir := w.restart()
	heir.expectActions(heir.suspendedObjects(flow(heir)))
	if got := user(); got != "b,yes" {
		t.Errorf("the suspended form did not stay: %s", got)
	}
	heir.settleObjects(flow(heir), done)
	if got := user(); got != "a," {
		t.Errorf("expected the user to be resumed with the data of the source, got %s", got)
	}
	heir.mustDelete()
}

// TestSuspensionWithoutData suspends an object whose data are gone: what they would add to it does not matter then.
func TestSuspensionWithoutData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flow := func() []client.Object {
		value := ""
		list := objects(w, `
apiVersion: v1
kind: ConfigMap
metadata: {name: source}
data: {value: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: user, annotations: {PREFIX/apply-order: "1"}}
data: {base: "1"}
`)
		list[0] = behaviors.Attach(list[0], behaviors.Extract(func(source *unstructured.Unstructured) error {
			value, _, _ = unstructured.NestedString(source.Object, "data", "value")
			return nil
		}))
		list[1] = behaviors.Attach(list[1], behaviors.Complete(func(manifest *unstructured.Unstructured) error {
			_ = unstructured.SetNestedField(manifest.Object, "half", "data", "base")
			if value == "" {
				return errors.New("there is no value")
			}
			return unstructured.SetNestedField(manifest.Object, value, "data", "value")
		}), behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
			return unstructured.SetNestedField(manifest.Object, "yes", "data", "suspended")
		}))
		return list
	}
	expect := func(want map[string]any) {
		t.Helper()
		if diff := diffData(want, w.configMap("user")); diff != "" {
			t.Error(diff)
		}
	}
	w.settleObjects(flow, done)
	expect(map[string]any{"base": "half", "value": "a"})
	w.quiesce()
	w.remove(w.configMap("source"))
	w.quiesce()
	w.expectActions(w.suspendedObjects(flow), "Updated ConfigMap user")
	expect(map[string]any{"base": "1", "suspended": "yes"})
	// The form stays, and nothing is written, until the object is resumed.
	w.expectActions(w.suspendedObjects(flow))
	w.settleObjects(flow, done)
	expect(map[string]any{"base": "half", "value": "a"})
	w.mustDelete()
}

// TestIncompleteFormsRecreateNothing: a form that lacks data of the object must not cost it these data.
func TestIncompleteFormsRecreateNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	value := "a"
	flow := func() []client.Object {
		list := objects(w, `
apiVersion: v1
kind: ConfigMap
metadata: {name: user, annotations: {PREFIX/update-policy: recreate}}
immutable: true
data: {base: "1"}
`)
		list[0] = behaviors.Attach(list[0], behaviors.Complete(func(manifest *unstructured.Unstructured) error {
			if value == "" {
				return errors.New("there is no value")
			}
			return unstructured.SetNestedField(manifest.Object, value, "data", "value")
		}), behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
			manifest.SetLabels(map[string]string{"suspended": "yes"})
			return nil
		}))
		return list
	}
	w.settleObjects(flow, done)
	uid := w.configMap("user").GetUID()
	value = ""
	if result, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: flow(), Digest: w.digest, Suspend: true}); err == nil {
		t.Errorf("got %v, want the answer of the API server", result.Actions)
	}
	if diff := diffData(map[string]any{"base": "1", "value": "a"}, w.configMap("user")); diff != "" || w.configMap("user").GetUID() != uid {
		t.Errorf("the object was recreated: %s", diff)
	}
	value = "a"
	w.suspendedObjects(flow)
	w.settleObjects(flow, done)
	w.mustDelete()
}

// TestSuspensionOfWhatIsAppliedOnce resumes what is applied once, and does not apply it again after that.
func TestSuspensionOfWhatIsAppliedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const once = `
apiVersion: v1
kind: ConfigMap
metadata: {name: once, annotations: {PREFIX/reconcile-policy: once}}
data: {awake: "VALUE"}
`
	asleep := map[string]any{"once": behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
		return unstructured.SetNestedField(manifest.Object, "no", "data", "awake")
	})}
	generate := func(value string) func() []client.Object {
		return func() []client.Object { return withSuspension(w, strings.ReplaceAll(once, "VALUE", value), asleep) }
	}
	expect := func(want string) {
		t.Helper()
		if data, _, _ := unstructured.NestedStringMap(w.configMap("once").Object, "data"); data["awake"] != want {
			t.Errorf("expected %s, got %v", want, data)
		}
	}
	w.settleObjects(generate("yes"), done)
	w.suspendedObjects(generate("yes"))
	expect("no")
	w.settleObjects(generate("yes"), done)
	expect("yes")
	w.settleObjects(generate("other"), done)
	expect("yes")
	w.mustDelete()
}

// drained is deleted when it is suspended, after it says that it is drained.
type drained struct{}

func (drained) Suspend(manifest *unstructured.Unstructured) error {
	return unstructured.SetNestedField(manifest.Object, "yes", "data", "drain")
}
func (drained) IsDeleted() bool               { return true }
func (drained) SuspensionJudge() status.Judge { return drainedJudge{} }

type drainedJudge struct{}

func (drainedJudge) Judge(object *unstructured.Unstructured) status.Result {
	if object.GetAnnotations()["drained"] == "yes" {
		return status.Result{Status: status.CurrentStatus}
	}
	return status.Result{Status: status.InProgressStatus, Message: "connections are open"}
}
func (drainedJudge) Rules() string { return "drained" }

// TestSuspensionJudge deletes an object after it is suspended to its own judge, which judges it only meanwhile.
func TestSuspensionJudge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	behavior := map[string]any{"cache": drained{}}
	everything := func() []client.Object { return withSuspension(w, suspendable, behavior) }
	w.settleObjects(everything, done)
	w.suspend = true // until suspended returns
	w.settleObjects(everything, func(result reconciler.Result) (bool, string) {
		got := notices(result.Waits)
		return strings.Contains(got, "connections are open"), got
	})
	if data, _, _ := unstructured.NestedStringMap(w.configMap("cache").Object, "data"); data["drain"] != "yes" {
		t.Errorf("the form was not applied: %v", data)
	}
	w.patch(w.configMap("cache"), `{"metadata":{"annotations":{"drained":"yes"}}}`)
	w.expectActions(w.suspended(suspendable, behavior), "Deleted ConfigMap cache")
	w.settleObjects(everything, done)
	w.mustDelete()
}
