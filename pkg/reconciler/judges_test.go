// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
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

// TestReadyWhen leads an object through its conditions: not answered, not true, true, failed. Each comes by an event.
// The engine is restarted in the middle, and each pass is planned before.
func TestReadyWhen(t *testing.T) {
	t.Parallel()
	const condition = `self.status.loadBalancer.ingress.exists(i, i.ip == "10.0.0.2")`
	w := newWorld(t)
	w.settle(afterBalancer, waitsFor("Service lb: ready-when cannot be evaluated (no such key: ingress): "+condition))
	w.balance(`{"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.1"}]}}}`)
	w.settle(afterBalancer, waitsFor("Service lb: ready-when does not hold: "+condition))
	w.expectInventory("ConfigMap after ScheduledForApplication InProgress", "Service lb Creating InProgress")

	successor := w.restart()
	successor.settle(afterBalancer, waitsFor("Service lb: ready-when does not hold: "+condition))
	successor.balance(`{"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.2"}]}}}`)
	successor.settle(afterBalancer, done)
	successor.rest(afterBalancer)
	successor.requests.Reset()
	successor.mustApply(afterBalancer)
	if n := successor.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got:\n%s", successor.requests)
	}

	successor.balance(`{"status":{"conditions":[{"type":"Refused","status":"True","reason":"Quota","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}]}}`)
	result := successor.settle(afterBalancer, func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) })
	if got, want := notices(result.Failures), "Service lb: fail-when holds: self.?status.conditions"; !strings.HasPrefix(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
}

// TestReadyWhenReadsContent has a condition over the content of a ConfigMap, whose kind is watched by its metadata
// until then.
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

// TestRulesChange has an owner with a judge of its own, and changes its rules: each dependent is read once. After a
// restart, none is.
func TestRulesChange(t *testing.T) {
	t.Parallel()
	const count = 12
	manifests := strings.ReplaceAll(configMaps(count, 1), "annotations:", "labels: {state: first}, annotations:")
	w := newWorld(t)
	w.planner = nil // which would read too
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

	successor := newWorld(t)
	successor.planner = nil
	successor.owner, successor.namespace, successor.judge = w.owner, w.namespace, labelled{"first", func() {}}
	successor.owner.Store = successor
	successor.mustApply(manifests)
	if reads := successor.requests.Count(func(r testenv.Request) bool {
		return r.Method == http.MethodGet && !r.IsWatch() && strings.Contains(r.Path, "/configmaps/")
	}); reads != 0 {
		t.Errorf("expected that the watch delivers all, got:\n%s", successor.requests)
	}
	if successor.judge = nil; successor.mustApply(manifests).Done {
		successor.expectActions(successor.mustApply(manifests))
	}
}

// timed are a Service that is ready when it has a label, and ConfigMaps in later waves.
const timed = `
apiVersion: v1
kind: Service
metadata:
  name: slow
  annotations: {PREFIX/ready-when: 'self.metadata.labels.ready == "true"', PREFIX/ready-timeout: 10m, PREFIX/ready-timeout-policy: POLICY}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "1"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: last, annotations: {PREFIX/apply-order: "2"}}
`

// TestReadyTimeout has an object exceed its time, become ready after all, and become unready later, when the time does
// not count any more.
func TestReadyTimeout(t *testing.T) {
	t.Parallel()
	const reason = `ready-when cannot be evaluated (no such key: ready): self.metadata.labels.ready == "true"`
	for policy, tc := range map[string]struct {
		failures string
		wave     int
		later    bool
	}{
		"fail":     {"Service slow: not ready within 10m0s: " + reason, 0, false},
		"continue": {"", 0, true},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			now := clocktesting.NewFakePassiveClock(time.Now())
			withClock := withOptions(func(o *reconciler.Options) { o.Clock = now })
			w := newWorld(t, withClock)
			manifests := strings.ReplaceAll(timed, "POLICY", policy)
			result := w.settle(manifests, waitsFor("Service slow: "+reason))
			if left := result.RequeueAfter; left <= 9*time.Minute || left > 10*time.Minute {
				t.Errorf("expected to be called again when the time is over, got %s", left)
			}

			// Neither a change of the object by others nor a restart gives it more time.
			now.SetTime(now.Now().Add(5 * time.Minute))
			w.patch(w.get("v1", "Service", "slow"), `{"metadata":{"labels":{"other":"x"}}}`)
			w.awaitEvent()
			w.settle(manifests, waitsFor("Service slow: "+reason))
			successor := w.restart(withClock)
			now.SetTime(now.Now().Add(5 * time.Minute))
			result = successor.settle(manifests, waitsFor("Service slow: not ready within 10m0s: "+reason))
			if got := notices(result.Failures); got != tc.failures || result.Done || result.Wave != tc.wave {
				t.Errorf("expected %q, got %q in wave %d", tc.failures, got, result.Wave)
			}
			if exists := successor.configMap("last") != nil; exists != tc.later {
				t.Errorf("later waves were applied: %v", exists)
			}

			successor.patch(successor.get("v1", "Service", "slow"), `{"metadata":{"labels":{"ready":"true"}}}`)
			successor.settle(manifests, done)
			now.SetTime(now.Now().Add(10 * time.Minute))
			successor.patch(successor.get("v1", "Service", "slow"), `{"metadata":{"labels":{"ready":"false"}}}`)
			result = successor.settle(manifests, func(result reconciler.Result) (bool, string) { return !result.Done, "it is ready" })
			if got := notices(result.Waits); len(result.Failures) > 0 || strings.Contains(got, "within") {
				t.Errorf("an object that was ready has exceeded its time: %s, %s", notices(result.Failures), got)
			}
		})
	}
}

func awaitingReports(o *reconciler.Options) { o.AwaitReports = true }

// withConditions is a definition that declares conditions, an instance of it, and a ConfigMap in a later wave.
func withConditions(ty *typed) string {
	definition := strings.ReplaceAll(customType, "schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}", `subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {status: {type: object, properties: {
      conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}`)
	return ty.expand(definition + "---" + strings.ReplaceAll(widget, "NAME", "own") +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: after, annotations: {PREFIX/apply-order: \"1\"}}\n")
}

// TestAwaitReports: an instance is not ready before its controller has reported a condition, also for the next process.
// The definition comes in the same set, and is read once.
func TestAwaitReports(t *testing.T) {
	t.Parallel()
	ty := newTyped(t, withOptions(awaitingReports))
	manifests := withConditions(ty)
	const waits = "Widget own: its controller has not reported any condition yet"
	ty.settle(manifests, waitsFor(waits))
	successor := ty.successor(withOptions(awaitingReports))
	successor.settle(manifests, waitsFor(waits))
	if ty.configMap("after") != nil {
		t.Error("the next wave has begun")
	}
	ty.report(`{"status":{"conditions":[{"type":"Synced","status":"True"}]}}`)
	successor.settle(manifests, done)
	if ty.configMap("after") == nil {
		t.Error("the next wave has not begun")
	}
}

// report writes the status of the instance as its controller does.
func (ty *typed) report(patch string) {
	ty.Helper()
	if err := ty.client.Status().Patch(ty.Context(), ty.widget("own"), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		ty.Fatal(err)
	}
}
