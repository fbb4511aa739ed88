// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

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

// TestReadyTimeout has an object exceed its time, become ready after all, and become unready later, when the time does not count any more.
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
			heir := newWorld(t, withClock)
			heir.owner, heir.namespace = w.owner, w.namespace
			heir.owner.Store = heir
			heir.engine.Subscribe(heir.owner.ID, func() { heir.woken <- heir.owner.ID })
			now.SetTime(now.Now().Add(5 * time.Minute))
			result = heir.settle(manifests, waitsFor("Service slow: not ready within 10m0s: "+reason))
			if got := notices(result.Failures); got != tc.failures || result.Done || result.Wave != tc.wave {
				t.Errorf("expected %q, got %q in wave %d", tc.failures, got, result.Wave)
			}
			if exists := heir.configMap("last") != nil; exists != tc.later {
				t.Errorf("later waves were applied: %v", exists)
			}

			heir.patch(heir.get("v1", "Service", "slow"), `{"metadata":{"labels":{"ready":"true"}}}`)
			heir.settle(manifests, done)
			now.SetTime(now.Now().Add(10 * time.Minute))
			heir.patch(heir.get("v1", "Service", "slow"), `{"metadata":{"labels":{"ready":"false"}}}`)
			result = heir.settle(manifests, func(result reconciler.Result) (bool, string) { return !result.Done, "it is ready" })
			if got := notices(result.Waits); len(result.Failures) > 0 || strings.Contains(got, "within") {
				t.Errorf("an object that was ready has exceeded its time: %s, %s", notices(result.Failures), got)
			}
		})
	}
}

// TestRefusedReadyTimeouts names object, key, value and what is allowed.
func TestRefusedReadyTimeouts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for annotations, text := range map[string]string{
		"PREFIX/ready-timeout: soon":            `annotation PREFIX/ready-timeout: invalid value "soon"; must be a duration`,
		"PREFIX/ready-timeout-policy: never":    `annotation PREFIX/ready-timeout-policy: invalid value "never"; must be one of: fail, continue`,
		"PREFIX/ready-timeout-policy: continue": `annotation PREFIX/ready-timeout-policy: it has no effect without PREFIX/ready-timeout; set a duration such as 10m`,
	} {
		_, err := w.apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {%s}}}", annotations))
		w.expectRefusal(err, "ConfigMap NS/a: "+text)
	}
}

// TestCarryOn applies all waves at once, and deletes what is redundant only when all objects are ready.
func TestCarryOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply("{apiVersion: v1, kind: ConfigMap, metadata: {name: redundant}}")
	manifests := strings.NewReplacer(", PREFIX/ready-timeout: 10m, PREFIX/ready-timeout-policy: POLICY", "").Replace(timed)
	pass := func() reconciler.Result {
		t.Helper()
		result, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, manifests), Digest: w.digest, CarryOn: true})
		if err != nil {
			t.Fatal(err)
		}
		w.owner.Inventory = result.Inventory
		return result
	}
	result := pass()
	if result.Done || result.Wave != 0 || !strings.HasPrefix(notices(result.Waits), "Service slow: ready-when cannot be evaluated") {
		t.Errorf("expected to wait for the Service, got %s in wave %d", notices(result.Waits), result.Wave)
	}
	if w.configMap("after") == nil || w.configMap("last") == nil || w.configMap("redundant") == nil {
		t.Error("expected all waves to be applied, and nothing to be deleted")
	}
	w.patch(w.get("v1", "Service", "slow"), `{"metadata":{"labels":{"ready":"true"}}}`)
	for !result.Done {
		w.awaitEvent()
		result = pass()
	}
	if w.configMap("redundant") != nil {
		t.Error("the redundant object was not deleted")
	}
}
