// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// ttl is far beyond the end of a test, so that only the tests delete objects.
const ttl = "backoffLimit: 0\n  ttlSecondsAfterFinished: 100000"

var retaining = withOptions(func(options *reconciler.Options) { options.RetainOutcomes = true })

// withTTL is the Job of jobs without a purge order, which Kubernetes deletes some time after it has finished.
func withTTL() string {
	return strings.NewReplacer(`PREFIX/purge-order: "0", `, "", "backoffLimit: 0", ttl).Replace(expand(jobs))
}

// begin creates the Job of the manifests in one pass.
func (w *world) begin(manifests string) *unstructured.Unstructured {
	w.Helper()
	if _, err := w.apply(manifests); err != nil {
		w.Fatal(err)
	}
	job := w.get("batch/v1", "Job", "migrate")
	if !slices.Contains(job.GetFinalizers(), prefix+"/outcome") {
		w.Fatalf("the Job has the finalizers %v", job.GetFinalizers())
	}
	return job
}

// awaitEnd waits until the Job has ended, without a pass.
func (w *world) awaitEnd(condition string) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		conditions, _, _ := unstructured.NestedSlice(w.get("batch/v1", "Job", "migrate").Object, "status", "conditions")
		for _, each := range conditions {
			if fields, _ := each.(map[string]any); fields["type"] == condition && fields["status"] == "True" {
				return true, ""
			}
		}
		return false, "the Job has not ended"
	})
}

// heir is a process that knows only what was recorded.
func (w *world) heir(options ...option) *world {
	w.Helper()
	return w.restart(append(options, retaining)...)
}

// TestOutcomesAreNotLost has others delete a Job that has ended before a pass has seen that.
func TestOutcomesAreNotLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, manifests, ends string
		want                  []string
		// unrecorded means that the process has ended before it could record that it has created the Job.
		unrecorded bool
	}{
		{"deleted after it has finished", withTTL(), "Complete", []string{"Job migrate Completed ", "ConfigMap after Ready Current"}, false},
		{"deleted after it has finished, and not recorded", withTTL(), "Complete", []string{"Job migrate Completed ", "ConfigMap after Ready Current"}, true},
		{"to be purged", expand(jobs), "Complete", []string{"Job migrate Completed ", "ConfigMap after Ready Current"}, false},
		{"to be purged, and not recorded", expand(jobs), "Complete", []string{"Job migrate Completed ", "ConfigMap after Ready Current"}, true},
		{
			"purged if it fails", expand(jobs, "JOB", `PREFIX/purge-on-failure: "true"`, "POD", `sandbox.component-operator.io/fail: "true"`), "Failed",
			[]string{"Job migrate Failed Failed", "ConfigMap after ScheduledForApplication InProgress"},
			false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, retaining)
			uid := w.begin(test.manifests).GetUID()
			w.awaitEnd(test.ends)
			w.engine.Close()
			w.remove(w.get("batch/v1", "Job", "migrate"))
			if w.get("batch/v1", "Job", "migrate") == nil {
				t.Fatal("the Job is gone before its outcome is recorded")
			}
			heir := w.heir()
			if test.unrecorded {
				heir.owner.Inventory = w.unrecorded("migrate")
			}
			heir.settle(test.manifests, func(reconciler.Result) (bool, string) {
				got := heir.inventory()
				slices.Sort(got)
				want := slices.Sorted(slices.Values(test.want))
				return slices.Equal(got, want), strings.Join(got, ", ")
			})
			if job := w.get("batch/v1", "Job", "migrate"); job != nil {
				t.Errorf("the Job has not gone, or runs again: former UID %s, got %s", uid, job.GetUID())
			}
			heir.mustDelete()
		})
	}
}

// unrecorded returns the inventory as it was saved before an object was created.
func (w *world) unrecorded(name string) []*reconciler.InventoryItem {
	var items []*reconciler.InventoryItem
	for _, item := range w.owner.Inventory {
		item = item.DeepCopy()
		if item.Name == name {
			item.Phase, item.Status, item.UID, item.LastAppliedAt = reconciler.PhaseScheduledForApplication, status.InProgressStatus, "", nil
			item.Fingerprint, item.Baseline = "", ""
		}
		items = append(items, item)
	}
	return items
}

// TestPodThatRunsIsCreatedAgain deletes a Pod that is ready, but has not ended.
func TestPodThatRunsIsCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, retaining)
	const manifests = `
apiVersion: v1
kind: Pod
metadata: {name: helper, annotations: {PREFIX/purge-order: "1"}}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: example.com/none}]}
---
apiVersion: v1
kind: Pod
metadata: {name: waits, annotations: {PREFIX/apply-order: "1"}}
spec: {nodeSelector: {there-is: none}, containers: [{name: main, image: example.com/none}]}
`
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return slices.Contains(w.inventory(), "Pod helper Ready Current"), notices(result.Waits)
	})
	helper := w.get("v1", "Pod", "helper")
	w.remove(helper)
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		again := w.get("v1", "Pod", "helper")
		return again != nil && again.GetUID() != helper.GetUID(), notices(result.Waits)
	})
	w.mustDelete()
}

// TestUnfinishedJobRunsAgain deletes a Job that has not ended.
func TestUnfinishedJobRunsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, retaining)
	manifests := strings.Replace(withTTL(), "restartPolicy: Never", "nodeSelector: {there-is: none}, restartPolicy: Never", 1)
	uid := w.begin(manifests).GetUID()
	w.remove(w.get("batch/v1", "Job", "migrate"))
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		job := w.get("batch/v1", "Job", "migrate")
		return job != nil && job.GetUID() != uid, "the Job is to run again: " + notices(result.Waits)
	})
	w.mustDelete()
}

// TestFinishedJobIsReleased removes the finalizer as soon as the outcome is recorded, and has nothing to do then.
func TestFinishedJobIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, retaining)
	manifests := withTTL()
	w.begin(manifests)
	w.awaitEnd("Complete")
	w.rest(manifests)
	if finalizers := w.get("batch/v1", "Job", "migrate").GetFinalizers(); len(finalizers) > 0 {
		t.Errorf("the Job still has the finalizers %v", finalizers)
	}
	w.requests.Reset()
	w.expectActions(w.mustApply(manifests))
	if all := w.requests.All(); len(all) > 0 {
		t.Errorf("at rest: %v", all)
	}
	// A correction does not put the finalizer back.
	w.patch(w.get("batch/v1", "Job", "migrate"), `{"metadata":{"annotations":{"PREFIX/owner-id":"other"}}}`)
	heir := w.heir()
	heir.mustApply(manifests)
	if finalizers := w.get("batch/v1", "Job", "migrate").GetFinalizers(); len(finalizers) > 0 {
		t.Errorf("a correction has set the finalizers %v", finalizers)
	}
	w.remove(w.get("batch/v1", "Job", "migrate"))
	heir.settle(manifests, func(reconciler.Result) (bool, string) {
		return slices.Contains(heir.inventory(), "Job migrate Completed "), strings.Join(heir.inventory(), ", ")
	})
	heir.mustDelete()
}

// TestOutcomeSurvivesDeath ends the process at each write of the pass that records an outcome.
func TestOutcomeSurvivesDeath(t *testing.T) {
	t.Parallel()
	for survived := range 2 {
		w := newWorld(t, retaining)
		manifests := withTTL()
		w.begin(manifests)
		w.awaitEnd("Complete")
		w.engine.Close()
		w.remove(w.get("batch/v1", "Job", "migrate"))
		mortal := w.heir(func(s *setup) { s.config = dying(s.config, survived) })
		mortal.owner.Store = w
		if _, err := mortal.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, manifests), Digest: w.digest}); survived == 0 && err == nil {
			t.Fatal("expected to die")
		}
		mortal.engine.Close()
		heir := w.heir()
		heir.settle(manifests, func(reconciler.Result) (bool, string) {
			return slices.Contains(heir.inventory(), "Job migrate Completed "), strings.Join(heir.inventory(), ", ")
		})
		heir.mustDelete()
	}
}

// TestRetainedJobsGoWithTheirOwner deletes, and orphans, a Job that runs.
func TestRetainedJobsGoWithTheirOwner(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"delete", "orphan"} {
		w := newWorld(t, retaining)
		manifests := strings.NewReplacer("restartPolicy: Never", "nodeSelector: {there-is: none}, restartPolicy: Never", `"0", `, `"0", PREFIX/delete-policy: `+policy).Replace(expand(jobs))
		w.begin(manifests)
		w.mustDelete()
		job := w.get("batch/v1", "Job", "migrate")
		if policy == "delete" && job != nil {
			t.Error("the Job is still there")
		}
		if policy == "orphan" && (job == nil || len(job.GetFinalizers()) > 0) {
			t.Errorf("expected a Job without finalizers, got %v", job)
		}
	}
}

// TestOutcomesOfHooks has others delete a Job of a set that runs once, as hooks do.
func TestOutcomesOfHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, retaining)
	manifests := strings.Replace(expand(jobs), `PREFIX/purge-order: "0", `, "", 1)
	apply := func(w *world) reconciler.Result {
		w.Helper()
		result, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, manifests), Digest: w.digest, RunOnce: true})
		if err != nil {
			t.Fatal(err)
		}
		w.owner.Inventory = result.Inventory
		return result
	}
	apply(w)
	w.awaitEnd("Complete")
	w.engine.Close()
	w.remove(w.get("batch/v1", "Job", "migrate"))
	heir := w.heir()
	testenv.Eventually(t, func() (bool, string) {
		result := apply(heir)
		return result.Done, notices(result.Waits)
	})
	heir.expectInventory("Job migrate Completed ", "ConfigMap after Ready Current")
	heir.mustDelete()
}
