// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// afterBalancer is a Service that is ready when it has a certain address, and a ConfigMap in a later wave.
const afterBalancer = `apiVersion: v1
kind: Service
metadata:
  name: lb
  annotations:
    PREFIX/ready-when: self.status.loadBalancer.ingress.exists(i, i.ip == "10.0.0.2")
    PREFIX/fail-when: self.?status.conditions.orValue([]).exists(c, c.type == "Refused" && c.status == "True")
spec: {type: LoadBalancer, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "1"}}
`

// balance writes the status of a Service as its controller does.
func (w *world) balance(patch string) {
	w.Helper()
	if err := w.client.Status().Patch(w.Context(), w.get("v1", "Service", "lb"), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

// waitsFor returns a condition for settle.
func waitsFor(want string) func(reconciler.Result) (bool, string) {
	return func(result reconciler.Result) (bool, string) {
		got := notices(result.Waits)
		return got == want, fmt.Sprintf("expected %q, got %q", want, got)
	}
}

func done(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) }

// TestReadyWhen leads an object through its conditions: not answered, not true, true, failed. Each comes by an event. The engine is restarted in the middle,
// and each pass is planned before.
func TestReadyWhen(t *testing.T) {
	t.Parallel()
	const condition = `self.status.loadBalancer.ingress.exists(i, i.ip == "10.0.0.2")`
	w := newWorld(t)
	w.settle(afterBalancer, waitsFor("Service lb: ready-when cannot be evaluated (no such key: ingress): "+condition))
	w.balance(`{"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.1"}]}}}`)
	w.settle(afterBalancer, waitsFor("Service lb: ready-when does not hold: "+condition))
	w.expectInventory("ConfigMap after ScheduledForApplication InProgress", "Service lb Creating InProgress")

	heir := newWorld(t)
	heir.owner, heir.namespace = w.owner, w.namespace
	heir.owner.Store = heir
	heir.engine.Subscribe(heir.owner.ID, func() { heir.woken <- heir.owner.ID })
	heir.settle(afterBalancer, waitsFor("Service lb: ready-when does not hold: "+condition))
	heir.balance(`{"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.2"}]}}}`)
	heir.settle(afterBalancer, done)
	heir.rest(afterBalancer)
	heir.requests.Reset()
	heir.mustApply(afterBalancer)
	if n := heir.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got:\n%s", heir.requests)
	}

	heir.balance(`{"status":{"conditions":[{"type":"Refused","status":"True","reason":"Quota","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}]}}`)
	result := heir.settle(afterBalancer, func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) })
	if got, want := notices(result.Failures), "Service lb: fail-when holds: self.?status.conditions"; !strings.HasPrefix(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
}

// TestReadyWhenReadsContent has a condition over the content of a ConfigMap, whose kind is watched by its metadata until then.
func TestReadyWhenReadsContent(t *testing.T) {
	t.Parallel()
	const plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	const judged = plain + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  annotations: {PREFIX/update-policy: ssa-merge, PREFIX/ready-when: self.data.state == \"done\"}\n"
	w := newWorld(t)
	w.mustApply(plain)
	w.rest(plain)
	w.requests.Reset()
	w.settle(judged, waitsFor(`ConfigMap b: ready-when cannot be evaluated (no such key: data): self.data.state == "done"`))
	if writes := w.writes(); len(writes) != 1 {
		t.Errorf("expected one write, got %v", writes)
	}
	w.patch(w.configMap("b"), `{"data":{"state":"done"}}`)
	w.settle(judged, done)
	w.rest(judged)
	w.requests.Reset()
	w.mustApply(judged)
	w.mustApply(judged)
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got:\n%s", w.requests)
	}
	w.patch(w.configMap("b"), `{"data":{"state":"open"}}`)
	w.settle(judged, waitsFor(`ConfigMap b: ready-when does not hold: self.data.state == "done"`))
}

func TestInvalidConditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for value, reason := range map[string]string{
		`slef.status.phase == "x"`: "line 1, column 1: undeclared reference to 'slef'",
		`self.status.phase`:        "it is of type dyn",
		`self.a.all(x, self.a.all(y, self.a.all(z, x < y && y < z)))`: "must be at most 10000000, which is enough for two nested loops",
		``: "it is empty; must be a CEL expression over self that evaluates to true or false",
	} {
		for _, key := range []string{"ready-when", "fail-when"} {
			object := &unstructured.Unstructured{}
			object.SetAPIVersion("v1")
			object.SetKind("ConfigMap")
			object.SetName("a")
			object.SetAnnotations(map[string]string{prefix + "/" + key: value})
			_, err := w.applyObjects([]client.Object{object})
			w.expectRefusal(err, "ConfigMap NS/a: annotation PREFIX/"+key+": invalid value "+fmt.Sprintf("%q", value), reason, "must be ")
		}
	}
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("something was written: %v", writes)
	}
}

// labelled is a judge: an object is ready when a label has a certain value. It counts what it judges.
type labelled struct {
	value  string
	judged func()
}

func (j labelled) Rules() string { return "label state is " + j.value }

func (j labelled) Judge(object *unstructured.Unstructured) status.Result {
	j.judged()
	if object.GetLabels()["state"] != j.value {
		return status.Result{Status: status.InProgressStatus, Message: "its state is not " + j.value}
	}
	return status.Result{Status: status.CurrentStatus}
}

// TestRulesChange has an owner with a judge of its own, and changes its rules: each dependent is read once. After a restart, none is.
func TestRulesChange(t *testing.T) {
	t.Parallel()
	const count = 12
	manifests := strings.ReplaceAll(configMaps(count, 1), "annotations:", "labels: {state: first}, annotations:")
	w := newWorld(t)
	w.judge = labelled{"first", func() {}}
	w.mustApply(manifests)
	w.rest(manifests)
	w.requests.Reset()
	w.mustApply(manifests)
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got:\n%s", w.requests)
	}
	w.judge = labelled{"second", func() {}}
	result, err := w.apply(manifests)
	if err != nil || len(result.Waits) != count || !strings.Contains(notices(result.Waits), "its state is not second") {
		t.Fatalf("expected to wait for each dependent, got %s, %v", notices(result.Waits), err)
	}
	reads := w.requests.Count(func(r testenv.Request) bool { return r.Method == http.MethodGet && !r.IsWatch() })
	if all := w.requests.Count(func(testenv.Request) bool { return true }); reads != count || all != count {
		t.Errorf("expected one read for each of %d dependents, got:\n%s", count, w.requests)
	}
	w.requests.Reset()
	if result, err = w.apply(manifests); err != nil || len(result.Waits) != count {
		t.Errorf("expected to wait as before, got %s, %v", notices(result.Waits), err)
	}
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected no more requests, got:\n%s", w.requests)
	}

	heir := newWorld(t)
	heir.owner, heir.namespace, heir.judge = w.owner, w.namespace, labelled{"first", func() {}}
	heir.owner.Store = heir
	heir.mustApply(manifests)
	if reads := heir.requests.Count(func(r testenv.Request) bool {
		return r.Method == http.MethodGet && !r.IsWatch() && strings.Contains(r.Path, "/configmaps/")
	}); reads != 0 {
		t.Errorf("expected that the watch delivers all, got:\n%s", heir.requests)
	}
	if heir.judge = nil; heir.mustApply(manifests).Done {
		heir.expectActions(heir.mustApply(manifests))
	}
}
