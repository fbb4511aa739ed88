// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	reconcilertypes "github.com/component-operator/runtime/pkg/types"
)

// flowing are objects with a flow of data: the ConfigMap "user", and in a later wave "after", need what the status of
// the Ingress "source" says. The ConfigMap "early" needs nothing.
type flowing struct {
	guarded bool // the user waits until the source has an address
	address string
}

const flowingManifests = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: source}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: early}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: user}
data: {constant: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "1"}}
`

func (f *flowing) objects(w *world) []client.Object {
	w.Helper()
	list := objects(w, flowingManifests)
	list[0] = behaviors.Attach(list[0], behaviors.Extract(func(source *unstructured.Unstructured) error {
		f.address = ""
		if ingress, _, _ := unstructured.NestedSlice(source.Object, "status", "loadBalancer", "ingress"); len(ingress) > 0 {
			f.address, _, _ = unstructured.NestedString(ingress[0].(map[string]any), "hostname")
		}
		return nil
	}))
	list[2] = behaviors.Attach(list[2], behaviors.AtStep(1), behaviors.Complete(func(manifest *unstructured.Unstructured) error {
		constant, _, _ := unstructured.NestedString(manifest.Object, "data", "constant")
		return unstructured.SetNestedField(manifest.Object, constant+f.address, "data", "constant")
	}))
	if f.guarded {
		list[2] = behaviors.Attach(list[2], behaviors.Guard(func() (string, error) {
			if f.address == "" {
				return "the source has no address", nil
			}
			return "", nil
		}))
	}
	return list
}

// answer writes the status of the source as its controller does. The verdict on it stays the same, and so does its
// generation.
func (w *world) answer(address string) {
	w.Helper()
	patch := fmt.Sprintf(`{"status":{"loadBalancer":{"ingress":[{"hostname":%q}]}}}`, address)
	if err := w.client.Status().Patch(w.Context(), w.get("networking.k8s.io/v1", "Ingress", "source"), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

// settleFlow is settle for objects with a flow of data.
func (w *world) settleFlow(f *flowing, condition func(reconciler.Result) (bool, string)) reconciler.Result {
	w.Helper()
	return w.settleObjects(func() []client.Object { return f.objects(w) }, condition)
}

// user returns the data of the ConfigMap that needs data of the source; empty if it does not exist.
func (w *world) user() string {
	w.Helper()
	object := w.configMap("user")
	if object == nil {
		return ""
	}
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	return data["constant"]
}

// TestLateManifests has an object follow the data of another one, by events alone, although no verdict changes. Each
// pass is planned before, and the engine is restarted in the middle.
func TestLateManifests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settleFlow(&flowing{}, done)
	if got := w.user(); got != "a" {
		t.Fatalf("expected the data of the source, got %q", got)
	}
	w = w.restart()
	result := w.settleFlow(&flowing{}, done)
	w.expectActions(result)

	w.answer("3")
	w.settleFlow(&flowing{}, func(reconciler.Result) (bool, string) { return w.user() == "a3", w.user() })

	f := &flowing{}
	w.atRest(f)
	w.requests.Reset()
	if result, err := w.applyObjects(f.objects(w)); err != nil || !result.Done {
		t.Fatal(result.Waits, err)
	}
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got:\n%s", w.requests)
	}

	w.patch(w.configMap("user"), `{"data":{"constant":"x"}}`)
	result = w.settleFlow(f, func(result reconciler.Result) (bool, string) { return w.user() == "a3", w.user() })
	w.expectActions(result, "Corrected ConfigMap user")
	w.mustDelete()
}

// atRest waits until the observer has seen all that happened so far.
func (w *world) atRest(f *flowing) {
	w.Helper()
	for {
		select {
		case <-w.woken:
		case <-time.After(200 * time.Millisecond):
			w.settleFlow(f, done)
			return
		}
	}
}

// TestGuards has a guard hold back a step and all that comes later, until an event changes its answer. What was written
// stays, and its drift is corrected.
func TestGuards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const held = "ConfigMap user: held back: the source has no address"
	w.settleFlow(&flowing{guarded: true}, waitsFor(held))
	w.expectInventory("Ingress source Ready Current", "ConfigMap after ScheduledForApplication InProgress", "ConfigMap early Ready Current",
		"ConfigMap user ScheduledForApplication InProgress")
	if w.user() != "" || w.configMap("after") != nil {
		t.Error("what is held back was applied")
	}
	w = w.restart()
	w.settleFlow(&flowing{guarded: true}, waitsFor(held))
	w.answer("2")
	w.settleFlow(&flowing{guarded: true}, done)
	if got := w.user(); got != "a2" || w.configMap("after") == nil {
		t.Errorf("expected what was held back to be applied, got %q", got)
	}

	// The guard holds again: nothing is taken back, and drift is corrected, except that of the late object, whose
	// manifest is not known.
	w.answer("")
	w.settleFlow(&flowing{guarded: true}, waitsFor(held))
	w.patch(w.configMap("user"), `{"data":{"constant":"x"}}`)
	w.remove(w.configMap("after"))
	w.settleFlow(&flowing{guarded: true}, func(reconciler.Result) (bool, string) {
		return w.configMap("after") != nil, "the object was not created again"
	})
	if got := w.user(); got != "x" {
		t.Errorf("expected the object to stay as it is, got %q", got)
	}
	w.mustDelete()
}

// TestFailingBehaviors names each error with its object, and repeats the pass by itself.
func TestFailingBehaviors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		behavior any
		waits    string
	}{
		"guard":                {behaviors.Guard(func() (string, error) { return "", broken }), "ConfigMap a: its guard has failed: broken"},
		"late":                 {behaviors.Complete(func(*unstructured.Unstructured) error { return broken }), "ConfigMap a: its manifest cannot be completed: broken"},
		"extracting":           {behaviors.Extract(func(*unstructured.Unstructured) error { return broken }), "ConfigMap a: its data cannot be extracted: broken"},
		"asking for its delay": {behaviors.Guard(func() (string, error) { return "", reconcilertypes.NewRetriableError(broken, new(time.Minute)) }), "ConfigMap a: held back: broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			list := objects(w, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}")
			list[0], list[1] = behaviors.Attach(list[0], tc.behavior), behaviors.Attach(list[1], behaviors.AtStep(1))
			result, err := w.applyObjects(list)
			if got := notices(result.Waits); err != nil || got != tc.waits {
				t.Errorf("expected %q, got %q, %v", tc.waits, got, err)
			}
			if asked := result.RequeueAfter == time.Minute; result.RequeueAfter == 0 || asked != strings.HasPrefix(name, "asking") {
				t.Errorf("unexpected delay %s", result.RequeueAfter)
			}
			if w.configMap("b") != nil {
				t.Error("the next step was applied")
			}
		})
	}
}

// TestNotAwaited applies what comes later although an object is not ready, or has failed.
func TestNotAwaited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := objects(w, `
apiVersion: v1
kind: Service
metadata: {name: failed, annotations: {PREFIX/fail-when: "true"}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: told, annotations: {PREFIX/fail-when: "true", PREFIX/await: never}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "1"}}
`)
	list[0] = behaviors.Attach(list[0], behaviors.NotAwaited{})
	testenv.Eventually(t, func() (bool, string) {
		result, err := w.applyObjects(list)
		if err != nil || len(result.Failures) > 0 || len(result.Unhealthy) > 0 {
			t.Fatal(result.Failures, result.Unhealthy, err)
		}
		return result.Done, notices(result.Waits)
	})
	w.expectInventory("ConfigMap after Ready Current", "Service failed Creating Failed", "Service told Creating Failed")
	w.mustDelete()
}

// TestDeathInSteps ends the process after each number of writes, between steps. A new process continues from the last
// saved inventory.
func TestDeathInSteps(t *testing.T) {
	t.Parallel()
	for survived := range 4 {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(s *setup) { s.config, _ = testenv.Dying(s.config, survived) }, withOptions(func(o *reconciler.Options) { o.MaxConcurrency = 1 }))
			result, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: (&flowing{}).objects(w), Digest: w.digest})
			if err == nil {
				t.Fatalf("the process has survived: %v", result.Waits)
			}
			successor := w.restart()
			successor.settleFlow(&flowing{}, done)
			if got := successor.user(); got != "a" {
				t.Errorf("expected the data of the source, got %q", got)
			}
			successor.mustDelete()
			if successor.user() != "" || successor.configMap("after") != nil || successor.configMap("early") != nil {
				t.Error("objects were left behind")
			}
		})
	}
}

// TestLateManifestsRunAgainAsPlanned has an object that was purged run again, with a plan, because data of another one
// have changed. Before it is created, that is recorded; the process may end at that moment.
func TestLateManifestsRunAgainAsPlanned(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: source}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: task, annotations: {PREFIX/purge-order: "0"}}
`
	late := func(w *world) []client.Object {
		var value string
		list := objects(w, manifests)
		return []client.Object{
			behaviors.Attach(list[0], behaviors.Extract(func(source *unstructured.Unstructured) error {
				value = source.GetAnnotations()["value"]
				return nil
			})),
			behaviors.Attach(list[1], behaviors.AtStep(1), behaviors.Complete(func(manifest *unstructured.Unstructured) error {
				return unstructured.SetNestedField(manifest.Object, value, "data", "value")
			})),
		}
	}
	w := newWorld(t)
	finish := func(w *world) {
		t.Helper()
		w.finish(func() (reconciler.Result, error) { return w.applyObjects(late(w)) })
		w.expectInventory("ConfigMap source Ready Current", "ConfigMap task Completed ")
	}
	finish(w)
	w.patch(w.configMap("source"), `{"metadata":{"annotations":{"value":"2"}}}`)

	w.awaitChange()
	dead := w.restart(func(s *setup) { s.config, _ = testenv.Dying(s.config, 0) })
	request := dead.requestFor(late(dead))
	plan, err := w.engine.Plan(t.Context(), request, reconciler.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	request.Expected = &plan
	if _, err := dead.engine.Apply(t.Context(), request); err == nil {
		t.Fatal("the process has survived")
	}
	dead.expectInventory("ConfigMap source Ready Current", "ConfigMap task ScheduledForApplication InProgress")
	finish(dead.restart())
	if dead.configMap("task") != nil {
		t.Error("the object was left behind")
	}
}

// TestSteps applies the steps of a wave one after the other in one pass: a step waits for the answers of the one
// before, not until its objects are ready, and overrules the order of kinds. The next wave does wait.
func TestSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := objects(w, `
apiVersion: v1
kind: ConfigMap
metadata: {name: second}
---
apiVersion: v1
kind: Service
metadata: {name: first, annotations: {PREFIX/ready-when: "false"}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: third}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: wave, annotations: {PREFIX/apply-order: "1"}}
`)
	list[0], list[2] = behaviors.Attach(list[0], behaviors.AtStep(1)), behaviors.Attach(list[2], behaviors.AtStep(7))
	w.requests.Reset()
	result, err := w.applyObjects(list)
	if err != nil || notices(result.Waits) != "Service first: ready-when does not hold: false" {
		t.Fatal(notices(result.Waits), err)
	}
	if got := w.requested(http.MethodPatch); got != "first second third" {
		t.Errorf("unexpected order: %s", got)
	}
}

// TestRequestsOfSteps counts the requests of many steps: one write for each object, and nothing more, neither then nor
// in the next pass.
func TestRequestsOfSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const steps, size = 50, 2
	var list []client.Object
	for i, object := range objects(w, configMaps(steps*size, 1)) {
		list = append(list, behaviors.Attach(object, behaviors.AtStep(i/size), behaviors.Guard(func() (string, error) { return "", nil })))
	}
	w.requests.Reset()
	w.finish(func() (reconciler.Result, error) { return w.applyObjects(list) })
	if got := len(w.writes()); got != steps*size {
		t.Errorf("expected %d writes, got %d", steps*size, got)
	}
	w.rest(configMaps(steps*size, 1))
	w.requests.Reset()
	if result, err := w.applyObjects(list); err != nil || !result.Done {
		t.Fatal(notices(result.Waits), err)
	}
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected no requests, got:\n%s", fmt.Sprint(w.requests))
	}
}

// reader generates a late ConfigMap with the host that a Secret of others has, and one in a later step.
func reader(w *world) []client.Object {
	var host string
	read := behaviors.Read{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
		NamespacedName:   apitypes.NamespacedName{Namespace: w.namespace, Name: "database"},
		Take: func(secret *unstructured.Unstructured) error {
			if secret == nil {
				return errors.New("does not exist")
			}
			var found bool
			if host, found, _ = unstructured.NestedString(secret.Object, "data", "host"); !found {
				return errors.New("has no host")
			}
			return nil
		},
	}
	complete := behaviors.Complete(func(manifest *unstructured.Unstructured) error {
		return unstructured.SetNestedField(manifest.Object, host, "data", "value")
	})
	objects := objects(w, configMapsNamed("client", "later"))
	return []client.Object{behaviors.Attach(objects[0], behaviors.Reads{read}, complete), behaviors.Attach(objects[1], behaviors.AtStep(1))}
}

func (w *world) secret(data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "database"}, StringData: data}
}

// reads returns how often the Secret was read.
func (w *world) reads() int {
	return w.requests.Count(func(r testenv.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/secrets/database")
	})
}

// TestObjectsOfOthersAreRead completes a manifest with data of an object that is not a dependent. That object is
// missing at first, then lacks the data, has them, changes and is deleted. Each change arrives as an event, costs one
// read, and is planned before. The process is restarted in the middle.
func TestObjectsOfOthersAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	generate := func() []client.Object { return reader(w) }
	settle := func(want string) {
		t.Helper()
		w.settleObjects(generate, waitsFor(w.expand(want)))
	}
	settle("Secret database: does not exist; later objects wait for it")
	if w.configMap("later") != nil || w.reads() != 0 {
		t.Errorf("want nothing to be applied, and no read, got %d reads", w.reads())
	}
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"port": "1"})); err != nil {
		t.Fatal(err)
	}
	settle("Secret database: its data cannot be used: has no host; later objects wait for it")
	w = w.successor()
	settle("Secret database: its data cannot be used: has no host; later objects wait for it")
	w.patch(w.get("v1", "Secret", "database"), `{"data":{"host":"YQ=="}}`)
	w.settleObjects(generate, done)
	w.expectInventory("ConfigMap client Ready Current", "ConfigMap later Ready Current")

	reads := w.reads()
	for range 3 {
		if _, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: reader(w), Digest: w.digest}); err != nil {
			t.Fatal(err)
		}
	}
	if w.reads() != reads {
		t.Error("an object that has not changed was read again")
	}

	w.patch(w.get("v1", "Secret", "database"), `{"data":{"host":"Yg=="}}`)
	w.settleObjects(generate, func(reconciler.Result) (bool, string) {
		return diffData(map[string]any{"value": "Yg=="}, w.configMap("client")) == "", "the change is not known"
	})
	if w.reads() != reads+1 {
		t.Errorf("want one read for the change, got %d", w.reads()-reads)
	}
	// What was written stays when the object goes, and drift of later steps is corrected.
	w.remove(w.get("v1", "Secret", "database"))
	settle("Secret database: does not exist; later objects wait for it")
	w.expectInventory("ConfigMap client Ready Current", "ConfigMap later Ready Current")
	w.mustDelete()
}

// TestAwaitedReads waits until an object of others is ready, without holding back anything of the same stage. The
// object is missing, not ready, failed, and ready; the process is restarted in the middle, and what is optional may be
// missing.
func TestAwaitedReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	optional := false
	generate := func() []client.Object {
		list := objects(w, strings.ReplaceAll(configMapsNamed("beside", "after"), "{name: after}", `{name: after, annotations: {PREFIX/apply-order: "1"}}`))
		return []client.Object{behaviors.Attach(list[0], behaviors.Reads{{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
			NamespacedName:   apitypes.NamespacedName{Namespace: w.namespace, Name: "database"},
			Take:             func(*unstructured.Unstructured) error { return nil },
			Judge:            byPhase{},
			Optional:         optional,
		}}), list[1]}
	}
	settle := func(want string) {
		t.Helper()
		result := w.settleObjects(generate, waitsFor(w.expand(want)))
		if w.configMap("beside") == nil || w.configMap("after") != nil || result.Done {
			t.Errorf("%s: want only the first wave to be applied", want)
		}
	}
	settle("Secret database: does not exist")
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"phase": "starting"})); err != nil {
		t.Fatal(err)
	}
	settle("Secret database: not started")
	w = w.successor()
	settle("Secret database: not started")
	w.patch(w.get("v1", "Secret", "database"), `{"data":{"phase":"YnJva2Vu"}}`)
	settle("Secret database: broken")
	result, err := w.applyObjects(generate())
	if err != nil || len(result.Failures) != 1 || result.Failures[0].Message != "broken" {
		t.Errorf("want a failure, got %v, %v", result.Failures, err)
	}
	w.patch(w.get("v1", "Secret", "database"), `{"data":{"phase":"cmVhZHk="}}`)
	w.settleObjects(generate, done)
	w.expectInventory("ConfigMap after Ready Current", "ConfigMap beside Ready Current")
	w.remove(w.get("v1", "Secret", "database"))
	w.settleObjects(generate, waitsFor(w.expand("Secret database: does not exist")))
	optional = true
	w.settleObjects(generate, done)
	w.mustDelete()
}

// byPhase judges a Secret by its data.
type byPhase struct{}

func (byPhase) Rules() string { return "by phase" }

func (byPhase) Judge(secret *unstructured.Unstructured) status.Result {
	phase, _, _ := unstructured.NestedString(secret.Object, "data", "phase")
	switch phase {
	case "cmVhZHk=":
		return status.Result{Status: status.CurrentStatus}
	case "YnJva2Vu":
		return status.Result{Status: status.FailedStatus, Message: "broken"}
	default:
		return status.Result{Status: status.InProgressStatus, Message: "not started"}
	}
}

// TestReadsAfterTheStep hold nothing back, and are awaited.
func TestReadsAfterTheStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answering("/secrets/database", http.StatusForbidden, metav1.StatusReasonForbidden))
	generate := func() []client.Object {
		list := objects(w, configMapsNamed("carrier", "later"))
		return []client.Object{behaviors.Attach(list[0], behaviors.Reads{{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, After: true, Judge: byPhase{},
			NamespacedName: apitypes.NamespacedName{Namespace: w.namespace, Name: "database"},
			Take:           func(*unstructured.Unstructured) error { return nil },
		}}), behaviors.Attach(list[1], behaviors.AtStep(1))}
	}
	w.settleObjects(generate, waitsFor("Secret database: does not exist"))
	if w.configMap("carrier") == nil || w.configMap("later") == nil {
		t.Error("something is held back")
	}
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"phase": "starting"})); err != nil {
		t.Fatal(err)
	}
	w.settleObjects(generate, func(result reconciler.Result) (bool, string) {
		got := notices(result.Waits)
		return strings.HasPrefix(got, "Secret database: cannot be read: ") && result.RequeueAfter > 0 && !result.Done, got
	})
	w.mustDelete()
}
