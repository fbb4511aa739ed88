// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sandbox"
	"github.com/component-operator/runtime/pkg/status"
	reconcilertypes "github.com/component-operator/runtime/pkg/types"
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
	result := w.settle(strings.Replace(manifests, "REPLICAS", "0", 1), done)
	w.expectInventory("Deployment house Ready Current", "ConfigMap after Ready Current", "ConfigMap scaffold Completed ")
	if w.configMap("scaffold") != nil {
		t.Errorf("the object is expected to be gone, got %v", actions(result))
	}
	w.mustDelete()
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
	manifests := failingJobs(fails) + rest
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return len(result.Failures) > 0 && w.get("batch/v1", "Job", "ends") == nil && w.get("v1", "Pod", "runs") != nil, strings.Join(w.inventory(), ", ")
	})
	w.quiesce()
	w.once(manifests)
	w.expectInventory("Pod runs Ready Current", "Job ends Completed ", "Job fails Creating Failed", "ConfigMap input Ready Current")
	w.requests.Reset()
	if _, err := w.apply(manifests); err != nil || len(w.writes()) > 0 {
		t.Errorf("want nothing to be left to be done, got %v, %v", err, w.writes())
	}
	w.settle(fails+rest, done)
	w.expectInventory("Pod runs Completed ", "Job ends Completed ", "Job fails Ready Current", "ConfigMap input Completed ")
	w.mustDelete()
}

// job returns the manifest of a Job that succeeds, with annotations of its own.
func job(name, annotations string) string {
	return strings.NewReplacer("NAME", name, "ANNOTATIONS", annotations).Replace(`
---
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, annotations: {ANNOTATIONS}}
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: example.com/none}]}
`)
}

// failingJobs returns a manifest of Jobs that fail.
func failingJobs(jobs string) string {
	return strings.ReplaceAll(jobs, "template:\n", "template:\n    metadata: {annotations: {sandbox.component-operator.io/fail: \"true\"}}\n")
}

const (
	postApply = `PREFIX/apply-hook: post-apply`
	onFailure = `PREFIX/apply-hook: on-failure`
)

// TestPostApply runs a hook after all other objects are ready, and redundant ones are gone; once for each state of the
// owner.
func TestPostApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.digest = "one"
	w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n")
	hook := job("smoke", postApply) + "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: report, annotations: {" + postApply + ", PREFIX/apply-order: \"-5\", PREFIX/purge-order: \"3\"}}\n"
	manifests := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, annotations: {PREFIX/apply-order: \"100\"}}\n" + job("main", "") + hook
	result, err := w.apply(manifests)
	if err != nil || result.Done || result.Wave != 0 {
		t.Fatalf("want to wait for the Job of wave 0, got wave %d, %v", result.Wave, err)
	}
	w.expectInventory("Job smoke ScheduledForApplication InProgress", "ConfigMap report ScheduledForApplication InProgress", "Job main Creating InProgress",
		"ConfigMap late ScheduledForApplication InProgress", "ConfigMap old ScheduledForDeletion Terminating")
	var order []string
	note := func(result reconciler.Result) {
		for _, action := range result.Actions {
			for _, object := range action.Objects {
				order = append(order, string(action.Verb)+" "+object.GetName()+" in "+reconcilertypes.WaveText(action.Wave))
			}
		}
	}
	note(result)
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		note(result)
		return done(result)
	})
	want := []string{
		"Created main in wave 0", "Created late in wave 100", "Deleted old in wave 0", "Created report in post-apply wave -5", "Created smoke in post-apply wave 0",
		"Completed report in post-apply wave 0",
	}
	slices.Sort(want)
	slices.Sort(order)
	if diff := diffObjects(want, order); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	w.expectInventory("Job smoke Ready Current", "ConfigMap report Completed ", "Job main Ready Current", "ConfigMap late Ready Current")
	w.requests.Reset()
	w.expectActions(w.mustApply(manifests))
	w.remove(w.get("batch/v1", "Job", "smoke"))
	w.settle(manifests, func(reconciler.Result) (bool, string) {
		return slices.Contains(w.inventory(), "Job smoke Completed "), strings.Join(w.inventory(), ", ")
	})
	if writes := w.writes(); len(slices.DeleteFunc(writes, func(write string) bool { return strings.HasPrefix(write, "DELETE") })) > 0 {
		t.Errorf("a hook that is done and gone has served its purpose, got %v", writes)
	}
	w.digest = "two"
	w.expectActions(w.mustApply(manifests), "Created ConfigMap report", "Completed ConfigMap report", "Created Job smoke")
	w.settle(manifests, done)
	w.digest = "three"
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return slices.Contains(actions(result), "Updated Job smoke"), strings.Join(actions(result), ", ")
	})
	w.settle(manifests, done)
	w.mustDelete()
}

// TestOnFailure runs hooks once for each state of the owner in which something fails.
func TestOnFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hooks := job("notify", onFailure+`, PREFIX/purge-order: "7"`) + job("restore", onFailure+`, PREFIX/apply-order: "1"`)
	w.digest = "one"
	good, bad := job("main", "PREFIX/update-policy: recreate"), failingJobs(job("main", "PREFIX/update-policy: recreate"))
	w.settle(good+hooks, done)
	w.expectInventory("Job main Ready Current")

	w.digest = "two"
	failed := func(result reconciler.Result) (bool, string) {
		return len(result.Failures) > 0 && len(result.Aftermath.Waits) == 0, strings.Join(w.inventory(), ", ")
	}
	w.settle(bad+hooks, func(result reconciler.Result) (bool, string) {
		if len(result.Aftermath.Waits) > 0 && len(result.Failures) == 0 {
			t.Errorf("hooks without failure: %+v", result.Aftermath)
		}
		return failed(result)
	})
	w.expectInventory("Job notify Completed ", "Job restore Ready Current", "Job main Creating Failed")
	w.requests.Reset()
	w.quiesce()
	if result, err := w.apply(bad + hooks); err != nil || len(actions(result)) > 0 || len(result.Aftermath.Waits) > 0 || len(w.writes()) > 0 {
		t.Errorf("want the hooks to be over: %v, %+v, %v", actions(result), result.Aftermath, w.writes())
	}

	w.digest = "three"
	w.settle(good+hooks, done)
	w.expectInventory("Job notify Completed ", "Job restore Ready Current", "Job main Ready Current")
	restored := w.get("batch/v1", "Job", "restore").GetUID()

	w.digest = "four"
	w.settle(bad+hooks, failed)
	if w.get("batch/v1", "Job", "restore").GetUID() == restored {
		t.Error("want the hook to run again, because the owner has changed and failed again")
	}
	w.settle(good, done)
	w.expectInventory("Job main Ready Current")
	w.mustDelete()
}

// TestOnRefusal runs hooks when the API server rejects an object, and when a post-apply hook fails.
func TestOnRefusal(t *testing.T) {
	t.Parallel()
	for reason, manifests := range map[string]string{
		"the API server rejects an object": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 70000}]}\n",
		"a post-apply hook fails":          failingJobs(job("smoke", postApply)),
	} {
		w := newWorld(t)
		hook := job("notify", onFailure)
		for {
			result, err := w.apply(manifests + hook)
			var refused *reconciler.RefusedError
			if err != nil && !errors.As(err, &refused) {
				t.Fatalf("%s: %v", reason, err)
			}
			if (refused != nil || len(result.Failures) > 0) && len(result.Aftermath.Waits) == 0 {
				break
			}
			w.awaitEvent()
		}
		if job := w.get("batch/v1", "Job", "notify"); job == nil {
			t.Errorf("%s: want the hook to have run", reason)
		}
		w.mustDelete()
	}
}

// TestOnFailureLeavesRedundantObjects prunes between waves, but not because something has failed.
func TestOnFailureLeavesRedundantObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.PruneAt = reconciler.PruneAtWaves
	w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old, annotations: {PREFIX/delete-order: \"10\"}}\n")
	w.settle(failingJobs(job("main", ""))+job("notify", onFailure), func(result reconciler.Result) (bool, string) {
		return len(result.Failures) > 0 && len(result.Aftermath.Waits) == 0, notices(result.Waits)
	})
	if w.configMap("old") == nil {
		t.Error("what the new version does not want any more is gone although the new version has failed")
	}
	w.mustDelete()
}

// TestBadOnFailure has a hook that the API server rejects: that neither hides the failure nor outlives it.
func TestBadOnFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := "\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {" + onFailure + "}}\nspec: {ports: [{port: 70000}]}\n"
	result := w.settle(failingJobs(job("main", ""))+hook, func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) })
	if !strings.Contains(result.Aftermath.Problem, "Service "+w.namespace+"/a: rejected by the API server") || result.RequeueAfter > 0 {
		t.Errorf("got %+v", result)
	}
	w.settle(hook, done)
	w.requests.Reset()
	if result, err := w.apply(hook); err != nil || !result.Done || result.Aftermath.Problem != "" || len(w.writes()) > 0 {
		t.Errorf("want the problem to be over, got %+v, %v", result, w.writes())
	}
	w.mustDelete()
}

// TestPurgeOnFailure has a Job fail and be deleted. It runs again when its manifest changes, not before.
func TestPurgeOnFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := expand(jobs, "JOB", "PREFIX/update-policy: recreate, PREFIX/purge-on-failure: \"true\", "+sandbox.AnnotationFail+`: "true"`)
	failed := func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) }
	apply := func(manifests string) reconciler.Result {
		result := w.once(manifests)
		return result
	}
	result := w.settle(manifests, failed)
	if len(result.Failures) != 1 || !strings.HasPrefix(result.Failures[0].Message, "failed (BackoffLimitExceeded)") {
		t.Errorf("want the reason of the failure, got %v", result.Failures)
	}
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return w.get("batch/v1", "Job", "migrate") == nil, "the Job is not gone"
	})
	result = apply(manifests)
	w.expectInventory("Job migrate Failed Failed", "ConfigMap after ScheduledForApplication InProgress")
	if got := notices(result.Failures); !strings.Contains(got, "failed, and was deleted") || result.Done {
		t.Errorf("want the failure to stay, got %s", got)
	}
	w.requests.Reset()
	w.expectActions(apply(manifests))
	if requests := w.requests.All(); len(requests) > 0 {
		t.Errorf("want no requests about what has failed, got %s", w.requests)
	}

	changed := expand(jobs, "JOB", `PREFIX/update-policy: recreate, PREFIX/purge-on-failure: "true"`, "TAG", "2")
	w.settle(changed, done)
	w.expectInventory("Job migrate Completed ", "ConfigMap after Ready Current")
	w.mustDelete()
}

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

// successor is a process that knows only what was recorded.
func (w *world) successor(options ...option) *world {
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
			successor := w.successor()
			if test.unrecorded {
				successor.owner.Inventory = w.unrecorded("migrate")
			}
			successor.settle(test.manifests, func(reconciler.Result) (bool, string) {
				got := successor.inventory()
				slices.Sort(got)
				want := slices.Sorted(slices.Values(test.want))
				return slices.Equal(got, want), strings.Join(got, ", ")
			})
			if job := w.get("batch/v1", "Job", "migrate"); job != nil {
				t.Errorf("the Job has not gone, or runs again: former UID %s, got %s", uid, job.GetUID())
			}
			successor.mustDelete()
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
	successor := w.successor()
	successor.mustApply(manifests)
	if finalizers := w.get("batch/v1", "Job", "migrate").GetFinalizers(); len(finalizers) > 0 {
		t.Errorf("a correction has set the finalizers %v", finalizers)
	}
	w.remove(w.get("batch/v1", "Job", "migrate"))
	successor.settle(manifests, func(reconciler.Result) (bool, string) {
		return slices.Contains(successor.inventory(), "Job migrate Completed "), strings.Join(successor.inventory(), ", ")
	})
	successor.mustDelete()
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
		mortal := w.successor(func(s *setup) { s.config, _ = testenv.Dying(s.config, survived) })
		mortal.owner.Store = w
		if _, err := mortal.engine.Apply(t.Context(), w.request(manifests)); survived == 0 && err == nil {
			t.Fatal("expected to die")
		}
		mortal.engine.Close()
		successor := w.successor()
		successor.settle(manifests, func(reconciler.Result) (bool, string) {
			return slices.Contains(successor.inventory(), "Job migrate Completed "), strings.Join(successor.inventory(), ", ")
		})
		successor.mustDelete()
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
	successor := w.successor()
	testenv.Eventually(t, func() (bool, string) {
		result := apply(successor)
		return result.Done, notices(result.Waits)
	})
	successor.expectInventory("Job migrate Completed ", "ConfigMap after Ready Current")
	successor.mustDelete()
}
