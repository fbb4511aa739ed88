// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

const jobs = `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {PREFIX/purge-order: "0", JOB}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {POD}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/none:TAG"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "1"}}
`

func expand(text string, replacements ...string) string {
	return strings.NewReplacer(append(replacements, "JOB", "", "POD", "", "TAG", "1")...).Replace(text)
}

func TestPurge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := expand(jobs, "JOB", `PREFIX/update-policy: recreate`)
	done := func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) }
	w.settle(manifests, done)
	w.expectInventory("Job migrate Completed ", "ConfigMap after Ready Current")
	if w.get("batch/v1", "Job", "migrate") != nil {
		t.Error("want the Job to be gone")
	}
	w.requests.Reset()
	w.expectActions(w.mustApply(manifests))
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("a purged object is not created again, got %v", writes)
	}
	changed := expand(jobs, "JOB", `PREFIX/update-policy: recreate`, "TAG", "2")
	result := w.settle(changed, func(result reconciler.Result) (bool, string) { return len(result.Actions) > 0, notices(result.Waits) })
	w.expectActions(result, "Created Job migrate")
	w.settle(changed, done)
	w.expectInventory("Job migrate Completed ", "ConfigMap after Ready Current")
	w.mustDelete()
}

func TestPurgeAtLaterWave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: scaffold, annotations: {PREFIX/purge-order: "5"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: last, annotations: {PREFIX/apply-order: "7"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: beyond, annotations: {PREFIX/purge-order: "9", PREFIX/delete-policy: orphan}}
`
	result := w.mustApply(manifests)
	w.expectActions(result, "Created ConfigMap scaffold", "Created ConfigMap last", "Created ConfigMap beyond",
		"Completed ConfigMap scaffold", "Completed ConfigMap beyond")
	w.expectInventory("ConfigMap beyond Completed ", "ConfigMap last Ready Current", "ConfigMap scaffold Completed ")
	w.mustApply("")
	w.expectInventory()
}

// TestPurgeAtTheEndOfAWave purges an object when the wave whose order is its purge order is ready, not before.
func TestPurgeAtTheEndOfAWave(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: scaffold, annotations: {PREFIX/purge-order: "5"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: house, annotations: {PREFIX/apply-order: "5"}}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: house}}
  template:
    metadata: {labels: {app: house}}
    spec: {nodeSelector: {there-is: none}, containers: [{name: main, image: example.com/none}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "6"}}
`
	w := newWorld(t)
	for range 3 {
		result, err := w.apply(strings.Replace(manifests, "REPLICAS", "1", 1))
		if err != nil || result.Done || !strings.Contains(notices(result.Waits), "Deployment house") {
			t.Fatalf("expected to wait for the Deployment, got %q, %v", notices(result.Waits), err)
		}
		if w.configMap("scaffold") == nil {
			t.Fatal("the object went before the wave was ready that it serves")
		}
	}
	result := w.settle(strings.Replace(manifests, "REPLICAS", "0", 1), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	w.expectInventory("Deployment house Ready Current", "ConfigMap after Ready Current", "ConfigMap scaffold Completed ")
	if w.configMap("scaffold") != nil {
		t.Errorf("the object is expected to be gone, got %v", actions(result))
	}
	w.mustDelete()
}

// TestPurgeOfWhatIsNotReady waits, also if nothing waits for readiness: a running Job must not be deleted, and what it needs neither.
func TestPurgeOfWhatIsNotReady(t *testing.T) {
	t.Parallel()
	const house = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: house, annotations: {PREFIX/purge-order: "0"AWAIT}}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: house}}
  template:
    metadata: {labels: {app: house}}
    spec: {nodeSelector: {there-is: none}, containers: [{name: main, image: example.com/none}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: scaffold, annotations: {PREFIX/purge-order: "0"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "1"}}
`
	for name, tc := range map[string]struct {
		await    string
		carryOn  bool
		scaffold bool // is purged, because nothing waits for the other object
	}{
		"nothing waits for any object": {"", true, false},
		"nothing waits for one":        {", PREFIX/await: never", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			pass := func(replicas string) reconciler.Result {
				t.Helper()
				manifests := strings.NewReplacer("AWAIT", tc.await, "REPLICAS", replicas).Replace(house)
				result, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, manifests), Digest: w.digest + replicas, CarryOn: tc.carryOn})
				if err != nil {
					t.Fatal(err)
				}
				w.owner.Inventory = result.Inventory
				return result
			}
			for range 3 {
				pass("1")
			}
			if w.get("apps/v1", "Deployment", "house") == nil {
				t.Fatal("an object that is not ready was purged")
			}
			if w.configMap("after") == nil {
				t.Error("the next wave has not begun")
			}
			if purged := w.configMap("scaffold") == nil; purged != tc.scaffold {
				t.Errorf("the other object was purged: %t, want %t", purged, tc.scaffold)
			}
			for result := pass("0"); !result.Done || w.get("apps/v1", "Deployment", "house") != nil; result = pass("0") {
				w.awaitEvent()
			}
			w.expectInventory("Deployment house Completed ", "ConfigMap after Ready Current", "ConfigMap scaffold Completed ")
		})
	}
}

// TestPurgeAfterAFailure purges what has ended although its wave fails, once. What the failed object may need stays.
func TestPurgeAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const purged = `PREFIX/purge-order: "3"`
	fails := job("fails", "PREFIX/update-policy: recreate")
	rest := job("ends", purged) + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: input, annotations: {` + purged + `}}
---
apiVersion: v1
kind: Pod
metadata: {name: runs, annotations: {` + purged + `}}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: example.com/none}]}
`
	manifests := inVain(fails) + rest
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return len(result.Failures) > 0 && w.get("batch/v1", "Job", "ends") == nil && w.get("v1", "Pod", "runs") != nil, strings.Join(w.inventory(), ", ")
	})
	w.quiesce()
	if _, err := w.apply(manifests); err != nil {
		t.Fatal(err)
	}
	w.expectInventory("Pod runs Ready Current", "Job ends Completed ", "Job fails Creating Failed", "ConfigMap input Ready Current")
	w.requests.Reset()
	if _, err := w.apply(manifests); err != nil || len(w.writes()) > 0 {
		t.Errorf("want nothing to be left to be done, got %v, %v", err, w.writes())
	}
	w.settle(fails+rest, isDone)
	w.expectInventory("Pod runs Completed ", "Job ends Completed ", "Job fails Ready Current", "ConfigMap input Completed ")
	w.mustDelete()
}

func TestFailedJobIsReportedAtOnceAndRunsAgainWhenDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := expand(jobs, "POD", `sandbox.component-operator.io/fail: "true"`)
	result := w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return len(result.Failures) > 0, "the Job is to fail: " + notices(result.Waits)
	})
	if !strings.HasPrefix(notices(result.Failures), "Job migrate: ") {
		t.Errorf("expected the Job to be named, got %q", notices(result.Failures))
	}
	w.expectInventory("Job migrate Creating Failed", "ConfigMap after ScheduledForApplication InProgress")
	w.remove(w.get("batch/v1", "Job", "migrate"))
	result = w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return len(result.Actions) > 0, "want the Job to be created again"
	})
	w.expectActions(result, "Restored Job migrate")
}

func TestFinishedJobThatRemovesItselfIsNotRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := strings.Replace(strings.Replace(expand(jobs), `PREFIX/purge-order: "0", `, "", 1), "backoffLimit: 0", "backoffLimit: 0\n  ttlSecondsAfterFinished: 1", 1)
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return result.Done && w.owner.Inventory[0].Phase == reconciler.PhaseCompleted, "the Job is to go: " + strings.Join(w.inventory(), ", ")
	})
	w.expectActions(w.mustApply(manifests))
	if w.get("batch/v1", "Job", "migrate") != nil {
		t.Error("the Job must not run again")
	}
}

func TestImmutableFieldNeedsRecreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := strings.Replace(expand(jobs), `PREFIX/purge-order: "0", `, "", 1)
	w.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	changed := strings.ReplaceAll(manifests, "none:1", "none:2")
	_, err := w.apply(changed)
	w.expectRefusal(err, "Job NS/migrate: rejected by the API server", "immutable")
	recreated := strings.ReplaceAll(changed, "annotations: {}}", "annotations: {PREFIX/update-policy: recreate}}")
	before := w.get("batch/v1", "Job", "migrate").GetUID()
	w.settle(recreated, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	if after := w.get("batch/v1", "Job", "migrate").GetUID(); after == before {
		t.Error("expected a new Job")
	}
}
