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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// flowing are objects with a flow of data: the ConfigMap "user", and in a later wave "after", need what the status of the Ingress "source" says. The
// ConfigMap "early" needs nothing.
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

// answer writes the status of the source as its controller does. The verdict on it stays the same, and so does its generation.
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

// TestLateManifests has an object follow the data of another one, by events alone, although no verdict changes. Each pass is planned before, and the
// engine is restarted in the middle.
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

// TestGuards has a guard hold back a step and all that comes later, until an event changes its answer. What was written stays, and its drift is corrected.
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

	// The guard holds again: nothing is taken back, and drift is corrected, except that of the late object, whose manifest is not known.
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
		"asking for its delay": {behaviors.Guard(func() (string, error) { return "", types.NewRetriableError(broken, new(time.Minute)) }), "ConfigMap a: held back: broken"},
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

// TestRefusedBehaviors refuses behaviors that contradict their objects, naming object, field and what is allowed.
func TestRefusedBehaviors(t *testing.T) {
	t.Parallel()
	completing := func(field string, value string) any {
		return behaviors.Complete(func(manifest *unstructured.Unstructured) error {
			return unstructured.SetNestedField(manifest.Object, value, strings.Split(field, " ")...)
		})
	}
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {unrelated: x}}"
	for name, tc := range map[string]struct {
		manifest string
		behavior any
		texts    []string
	}{
		"a negative step": {configMap, behaviors.AtStep(-1), []string{"ConfigMap NS/a", "step -1", "must not be negative"}},
		"no behavior":     {configMap, 7, []string{"ConfigMap NS/a", "type int", "Guarded"}},
		"another name":    {configMap, completing("metadata name", "b"), []string{"ConfigMap NS/a", "ConfigMap NS/b", "name and namespace that were announced"}},
		"another version": {configMap, completing("apiVersion", "v2"), []string{"ConfigMap NS/a", "v2", "announced"}},
		"another order":   {configMap, completing("metadata annotations "+prefix+"/apply-order", "1"), []string{"ConfigMap NS/a", prefix + "/apply-order", `"1"`, `""`}},
		"a late type":     {strings.ReplaceAll(customType, "GROUP", "late.example.com"), completing("metadata annotations x", "y"), []string{"CustomResourceDefinition", "cannot be late"}},
		"values of no kind": {configMap, behaviors.Complete(func(m *unstructured.Unstructured) error {
			return unstructured.SetNestedField(m.Object, int64(1), "metadata", "labels", "x")
		}), []string{"ConfigMap NS/a", "metadata.labels", "all values must be strings"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			list := objects(w, tc.manifest)
			list[0] = behaviors.Attach(list[0], tc.behavior)
			_, err := w.applyObjects(list)
			w.expectRefusal(err, tc.texts...)
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
metadata: {name: pending, annotations: {PREFIX/ready-when: "false"}}
spec: {ports: [{port: 80}]}
---
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
	for i := range 2 {
		list[i] = behaviors.Attach(list[i], behaviors.NotAwaited{})
	}
	testenv.Eventually(t, func() (bool, string) {
		result, err := w.applyObjects(list)
		if err != nil || len(result.Failures) > 0 || len(result.Unhealthy) > 0 {
			t.Fatal(result.Failures, result.Unhealthy, err)
		}
		return result.Done, notices(result.Waits)
	})
	w.expectInventory("ConfigMap after Ready Current", "Service failed Creating Failed", "Service pending Creating InProgress", "Service told Creating Failed")
	w.mustDelete()
}

// worded is a judge with words of its own.
type worded struct{ ready bool }

func (j worded) Judge(*unstructured.Unstructured) status.Result {
	if j.ready {
		return status.Result{Status: status.CurrentStatus, Reason: "Healthy", Grade: status.GradeHealthy}
	}
	return status.Result{Status: status.InProgressStatus, Message: "1/2 ready", Reason: "Scaling", Grade: status.GradeDegraded}
}

func (j worded) Rules() string { return fmt.Sprint("worded ", j.ready) }

// TestReasonsOfWaits: a wait has the word, the grade and the grace period of its object.
func TestReasonsOfWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ready := false
	generate := func() []client.Object {
		list := objects(w, configMapsNamed("a", "b"))
		held := func() (string, error) { return "not yet", nil }
		if ready {
			held = func() (string, error) { return "", nil }
		}
		return []client.Object{
			behaviors.Attach(list[0], worded{ready}, behaviors.GracePeriod(time.Minute)), behaviors.Attach(list[1], behaviors.AtStep(1), behaviors.Guard(held), behaviors.GracePeriod(time.Hour)),
		}
	}
	result := w.settleObjects(generate, waitsFor("ConfigMap a: 1/2 ready; ConfigMap b: held back: not yet"))
	want := []reconciler.Notice{
		{Object: result.Waits[0].Object, Message: "1/2 ready", Reason: "Scaling", Grade: status.GradeDegraded, Grace: time.Minute},
		{Object: result.Waits[1].Object, Message: "held back: not yet", Reason: "Blocked", Grade: status.GradeDown, Grace: time.Hour},
	}
	if diff := cmp.Diff(want, result.Waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ready = true
	w.settleObjects(generate, done)
	w.mustDelete()
}

// TestReset: each pass and each plan begins without the data of the one before.
func TestReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var calls []string
	list := objects(w, configMapsNamed("a", "b"))
	list[0] = behaviors.Attach(list[0], behaviors.Extract(func(*unstructured.Unstructured) error { calls = append(calls, "extract"); return nil }))
	list[1] = behaviors.Attach(list[1], behaviors.AtStep(1), behaviors.Guard(func() (string, error) { calls = append(calls, "guard"); return "", nil }),
		behaviors.Reset(func() { calls = append(calls, "reset") }))
	request := reconciler.ApplyRequest{Owner: w.owner, Objects: list, Digest: w.digest, Version: "1"}
	if _, err := w.engine.Plan(t.Context(), request, reconciler.PlanOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // The second pass uses the results of the first one.
		result, err := w.engine.Apply(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		request.Inventory = result.Inventory
	}
	w.owner.Inventory = request.Inventory
	if got := strings.Join(calls, " "); strings.ReplaceAll(got, "reset guard reset", "reset reset") != "reset reset extract guard reset extract guard" {
		t.Errorf("unexpected calls: %s", got)
	}
	w.mustDelete()
}

// TestDeathInSteps ends the process after each number of writes, between steps. A new process continues from the last saved inventory.
func TestDeathInSteps(t *testing.T) {
	t.Parallel()
	for survived := range 4 {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(s *setup) { s.config = dying(s.config, survived) }, withOptions(func(o *reconciler.Options) { o.MaxConcurrency = 1 }))
			result, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: (&flowing{}).objects(w), Digest: w.digest})
			if err == nil {
				t.Fatalf("the process has survived: %v", result.Waits)
			}
			heir := w.restart()
			heir.settleFlow(&flowing{}, done)
			if got := heir.user(); got != "a" {
				t.Errorf("expected the data of the source, got %q", got)
			}
			heir.mustDelete()
			if heir.user() != "" || heir.configMap("after") != nil || heir.configMap("early") != nil {
				t.Error("objects were left behind")
			}
		})
	}
}

// TestPlanOfLateManifests has a plan say what it cannot know, and come true.
func TestPlanOfLateManifests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := &flowing{guarded: true}
	request := reconciler.ApplyRequest{Owner: w.owner, Objects: f.objects(w), Digest: w.digest}
	plan, err := w.engine.Plan(t.Context(), request, reconciler.PlanOptions{Compare: true})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, change := range plan.Changes {
		texts = append(texts, fmt.Sprintf("%s %s: %s", change.Verb, change.Object.Name, change.Reason))
	}
	want := "Created early: does not exist, Created source: does not exist, " +
		"Created user: does not exist; depends on data of Ingress NS/source, Created after: does not exist"
	if got := strings.ReplaceAll(strings.Join(texts, ", "), w.namespace, "NS"); got != want {
		t.Errorf("expected %s\ngot %s", want, got)
	}
	request.Expected = &plan
	result, err := w.engine.Apply(t.Context(), request)
	if err != nil || result.Done {
		t.Fatal(result.Done, err)
	}
	w.answer("1")
	testenv.Eventually(t, func() (bool, string) {
		request.Inventory = result.Inventory
		if result, err = w.engine.Apply(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		return result.Done, notices(result.Waits)
	})
	if got := w.user(); got != "a1" {
		t.Errorf("expected the data of the source, got %q", got)
	}
	w.owner.Inventory = result.Inventory
	w.mustDelete()
}

// TestJudgedObjects has one object with a judge of its own. If its rules change, only this object is read again.
func TestJudgedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := func(value string) []client.Object {
		list := objects(w, strings.ReplaceAll(configMaps(3, 1), "annotations:", "labels: {state: first}, annotations:"))
		list[1] = behaviors.Attach(list[1], labelled{value, func() {}})
		return list
	}
	const other = "ConfigMap c1: its state is not second"
	for _, step := range []struct{ value, waits string }{{"second", other}, {"second", other}, {"first", ""}, {"second", other}} {
		w.requests.Reset()
		result, err := w.applyObjects(list(step.value))
		if got := notices(result.Waits); err != nil || got != step.waits || result.Done != (step.waits == "") {
			t.Fatalf("expected %q, got %q, %v", step.waits, got, err)
		}
		for _, request := range w.requests.All() {
			if request.Method == http.MethodGet && strings.Contains(request.Path, "/configmaps/") && !strings.HasSuffix(request.Path, "/c1") {
				t.Errorf("the status of another object was read: %s", request.Path)
			}
		}
	}
	w.requests.Reset()
	if _, err := w.applyObjects(list("second")); err != nil {
		t.Fatal(err)
	}
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected no requests, got:\n%s", w.requests)
	}
}

// TestLateManifestsRunAgainAsPlanned has an object that was purged run again, with a plan, because data of another one have changed. Before it is created, that is
// recorded; the process may end at that moment.
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
		testenv.Eventually(t, func() (bool, string) {
			result, err := w.applyObjects(late(w))
			if err != nil {
				t.Fatal(err)
			}
			return result.Done, notices(result.Waits)
		})
		w.expectInventory("ConfigMap source Ready Current", "ConfigMap task Completed ")
	}
	finish(w)
	w.patch(w.configMap("source"), `{"metadata":{"annotations":{"value":"2"}}}`)

	dead := newWorld(t, func(s *setup) { s.config = dying(s.config, 0) })
	dead.owner, dead.namespace = w.owner, w.namespace
	dead.owner.Store = dead
	request := reconciler.ApplyRequest{Owner: dead.owner, Objects: late(dead), Digest: dead.digest}
	plan, err := w.planner.Plan(t.Context(), request, reconciler.PlanOptions{})
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
