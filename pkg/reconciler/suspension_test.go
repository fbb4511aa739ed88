// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/reconciler"
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
	successor := w.restart()
	successor.expectActions(successor.suspended(suspendable, usualSuspension))
	// Others cannot wake what is suspended.
	w.patch(w.get("apps/v1", "Deployment", "shop"), `{"spec":{"replicas":3}}`)
	successor.settleSuspended(func(result reconciler.Result) bool {
		return slices.Contains(actions(result), "Corrected Deployment shop")
	})
	var resumed reconciler.Result
	successor.settleObjects(everything, func(result reconciler.Result) (bool, string) {
		resumed.Actions = append(resumed.Actions, result.Actions...)
		return result.Done, notices(result.Waits)
	})
	successor.expectActions(resumed, "Corrected ConfigMap settings", "Updated Deployment database", "Created ConfigMap cache", "Updated Deployment shop")
	if w.replicas("database") != 1 || w.replicas("shop") != 2 || w.configMap("cache") == nil {
		t.Errorf("%v", successor.inventory())
	}
	successor.mustDelete()
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
				mortal := w.restart(func(s *setup) { s.config, _ = testenv.Dying(s.config, survived) })
				testenv.Eventually(t, func() (bool, string) {
					result, err := mortal.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: mortal.owner, Objects: everything(), Digest: w.digest, Suspend: true})
					if result.Done {
						t.Fatal("the process has survived")
					}
					return err != nil, notices(result.Waits)
				})
				mortal.engine.Close()
				successor := mortal.restart()
				if !resumed {
					successor.suspended(suspendable, usualSuspension)
					if w.replicas("database") != 0 || w.replicas("shop") != 0 || w.configMap("cache") != nil || w.configMap("settings") == nil {
						t.Errorf("%v", successor.inventory())
					}
				}
				successor.settleObjects(everything, done)
				if w.replicas("database") != 1 || w.replicas("shop") != 2 || w.configMap("cache") == nil {
					t.Errorf("%v", successor.inventory())
				}
				successor.mustDelete()
			})
		}
	}
}

// TestSuspensionWithoutData suspends an object whose late manifest needs data of an object that is gone.
func TestSuspensionWithoutData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flow := func() []client.Object {
		value := ""
		list := objects(w, strings.ReplaceAll(configMapsNamed("source", "user"), "{name: user}", `{name: user, annotations: {PREFIX/apply-order: "1"}}`))
		list[0] = behaviors.Attach(list[0], behaviors.Extract(func(source *unstructured.Unstructured) error {
			value = source.GetName()
			return nil
		}))
		list[1] = behaviors.Attach(list[1], behaviors.Complete(func(manifest *unstructured.Unstructured) error {
			if value == "" {
				return errors.New("there is no value")
			}
			return unstructured.SetNestedField(manifest.Object, value, "data", "value")
		}), behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
			return unstructured.SetNestedField(manifest.Object, "yes", "data", "suspended")
		}))
		return list
	}
	w.settleObjects(flow, done)
	w.remove(w.configMap("source"))
	w.quiesce()
	w.expectActions(w.suspendedObjects(flow), "Updated ConfigMap user")
	w.settleObjects(flow, done)
	if diff := diffData(map[string]any{"value": "source"}, w.configMap("user")); diff != "" {
		t.Error(diff)
	}
	w.mustDelete()
}
