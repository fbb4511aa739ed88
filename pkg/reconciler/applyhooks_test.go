// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

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

// inVain returns a manifest of Jobs that fail.
func inVain(jobs string) string {
	return strings.ReplaceAll(jobs, "template:\n", "template:\n    metadata: {annotations: {sandbox.component-operator.io/fail: \"true\"}}\n")
}

const (
	postApply = `PREFIX/apply-hook: post-apply`
	onFailure = `PREFIX/apply-hook: on-failure`
)

func isDone(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) }

// TestPostApply runs a hook after all other objects are ready, and redundant ones are gone; once for each state of the owner.
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
				order = append(order, string(action.Verb)+" "+object.GetName()+" in "+types.WaveText(action.Wave))
			}
		}
	}
	note(result)
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		note(result)
		return isDone(result)
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
	w.settle(manifests, isDone)
	w.digest = "three"
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return slices.Contains(actions(result), "Updated Job smoke"), strings.Join(actions(result), ", ")
	})
	w.settle(manifests, isDone)
	w.mustDelete()
}

// TestFailedPostApply lets a hook fail, which the owner does not survive unharmed, and runs it again.
func TestFailedPostApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := inVain(job("smoke", postApply))
	result := w.settle(manifests, func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) })
	if result.Done || types.WaveText(result.Wave) != "post-apply wave 0" {
		t.Errorf("got %+v", result)
	}
	w.remove(w.get("batch/v1", "Job", "smoke"))
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		return slices.Contains(actions(result), "Restored Job smoke"), strings.Join(actions(result), ", ")
	})
	w.mustDelete()
}

// TestOnFailure runs hooks once for each state of the owner in which something fails.
func TestOnFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hooks := job("notify", onFailure+`, PREFIX/purge-order: "7"`) + job("restore", onFailure+`, PREFIX/apply-order: "1"`)
	w.digest = "one"
	good, bad := job("main", "PREFIX/update-policy: recreate"), inVain(job("main", "PREFIX/update-policy: recreate"))
	w.settle(good+hooks, isDone)
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
	w.settle(good+hooks, isDone)
	w.expectInventory("Job notify Completed ", "Job restore Ready Current", "Job main Ready Current")
	restored := w.get("batch/v1", "Job", "restore").GetUID()

	w.digest = "four"
	w.settle(bad+hooks, failed)
	if w.get("batch/v1", "Job", "restore").GetUID() == restored {
		t.Error("want the hook to run again, because the owner has changed and failed again")
	}
	w.settle(good, isDone)
	w.expectInventory("Job main Ready Current")
	w.mustDelete()
}

// TestOnFailureGoesOn repairs the owner while the hooks are running: they come to their end, and hold up nothing.
func TestOnFailureGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := pending("notify", onFailure)
	bad := inVain(job("main", ""))
	w.settle(bad+hook, func(result reconciler.Result) (bool, string) {
		return result.Aftermath.Goes(), notices(result.Waits)
	})
	result := w.settle(strings.TrimPrefix(hook, "\n---\n"), isDone)
	if !result.Aftermath.Goes() {
		t.Errorf("want the hook to go on, got %+v", result.Aftermath)
	}
	w.succeed("notify")
	w.settle(strings.TrimPrefix(hook, "\n---\n"), func(result reconciler.Result) (bool, string) { return !result.Aftermath.Goes(), notices(result.Waits) })
	w.expectInventory("Pod notify Ready Current")
	w.mustDelete()
}

// TestOnRefusal runs hooks when the API server rejects an object, and when a post-apply hook fails.
func TestOnRefusal(t *testing.T) {
	t.Parallel()
	for reason, manifests := range map[string]string{
		"the API server rejects an object": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 70000}]}\n",
		"a post-apply hook fails":          inVain(job("smoke", postApply)),
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

// TestFailedOnFailure lets a hook fail, which is reported apart from the failure that it follows.
func TestFailedOnFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := inVain(job("main", "") + job("notify", onFailure))
	ended := func(result reconciler.Result) (bool, string) {
		return len(result.Aftermath.Failures) == 1, notices(result.Waits)
	}
	result := w.settle(manifests, ended)
	if len(result.Failures) != 1 || !strings.Contains(notices(result.Failures), "Job main") || !strings.Contains(notices(result.Aftermath.Failures), "Job notify") {
		t.Errorf("got %+v", result)
	}
	w.mustDelete()
}

// TestHooksOfBadKind refuses what cannot be a hook.
func TestHooksOfBadKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-x, annotations: {" + postApply + "}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/apply-hook: later}}\n")
	w.expectRefusal(err, `ConfigMap NS/a: annotation PREFIX/apply-hook: invalid value "later"; must be one of: post-apply, on-failure`)
	for _, hook := range []string{postApply, onFailure} {
		_, err = w.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-x, annotations: {" + hook + "}}\n")
		w.expectRefusal(err, "Namespace NS-x: apply-hook is not allowed on objects of this kind")
	}
}

// TestFinishedJobOfAState deletes a Job that runs once for each state of the owner, after it has succeeded and after it has failed.
func TestFinishedJobOfAState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := job("migrate", "PREFIX/reconcile-policy: on-object-or-component-change")
	w.settle(manifests, isDone)
	w.remove(w.get("batch/v1", "Job", "migrate"))
	w.settle(manifests, func(reconciler.Result) (bool, string) {
		return slices.Contains(w.inventory(), "Job migrate Completed "), strings.Join(w.inventory(), ", ")
	})
	failing := inVain(job("other", "PREFIX/reconcile-policy: on-object-or-component-change"))
	w.settle(failing, func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) })
	w.remove(w.get("batch/v1", "Job", "other"))
	w.settle(failing, func(result reconciler.Result) (bool, string) {
		return slices.Contains(actions(result), "Restored Job other"), strings.Join(actions(result), ", ")
	})
	w.mustDelete()
}

// pending is the manifest of a Pod that nothing runs, with annotations.
func pending(name, annotations string) string {
	return strings.NewReplacer("NAME", name, "ANNOTATIONS", annotations).Replace(`
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {ANNOTATIONS, PREFIX/status-hint: run-to-completion}}
spec: {nodeSelector: {there-is: none}, containers: [{name: main, image: example.com/none}]}
`)
}

// succeed has a Pod end as if its program had.
func (w *world) succeed(name string) {
	w.Helper()
	status := client.RawPatch(apitypes.MergePatchType, []byte(`{"status":{"phase":"Succeeded","containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":0,"finishedAt":"2020-01-01T00:00:00Z"}}}]}}`))
	if err := w.client.Status().Patch(w.Context(), w.get("v1", "Pod", name), status); err != nil {
		w.Fatal(err)
	}
}

// TestOnFailureWhenTheOwnerChanges repairs the owner by a change while a hook is running: the hook ends as it began, and is purged.
func TestOnFailureWhenTheOwnerChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, retaining)
	hook := pending("notify", onFailure+`, PREFIX/purge-order: "0"`)
	hooks := hook + pending("log", onFailure) + job("restore", onFailure+`, PREFIX/apply-order: "1"`)
	w.digest = "one"
	w.settle(inVain(job("main", ""))+hooks, func(result reconciler.Result) (bool, string) { return result.Aftermath.Goes(), notices(result.Waits) })
	w.digest = "two"
	changed := strings.ReplaceAll(hooks, "example.com/none", "example.com/other")
	uid := w.get("v1", "Pod", "notify").GetUID()
	result := w.settle(changed, isDone)
	if !result.Aftermath.Goes() || len(w.get("v1", "Pod", "notify").GetFinalizers()) == 0 {
		t.Errorf("want the hook to go on, got %+v", result.Aftermath)
	}
	// While it runs, another failure does not run it again.
	w.settle(inVain(job("main", ""))+changed, func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) })
	if now := w.get("v1", "Pod", "notify").GetUID(); now != uid {
		t.Error("want the hook to come to its end")
	}
	w.settle(changed, isDone)
	w.succeed("notify")
	w.succeed("log")
	w.settle(changed, func(reconciler.Result) (bool, string) {
		return slices.Contains(w.inventory(), "Pod notify Completed ") && slices.Contains(w.inventory(), "Pod log Ready Current"), strings.Join(w.inventory(), ", ")
	})
	testenv.Eventually(t, func() (bool, string) {
		return len(w.get("v1", "Pod", "log").GetFinalizers()) == 0, "the finalizer is not removed"
	})
	if w.get("batch/v1", "Job", "restore") != nil {
		t.Error("a hook has begun although nothing has failed any more")
	}
	w.mustDelete()
}

// TestOnFailureLeavesRedundantObjects prunes between waves, but not because something has failed.
func TestOnFailureLeavesRedundantObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.PruneAt = reconciler.PruneAtWaves
	w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old, annotations: {PREFIX/delete-order: \"10\"}}\n")
	w.settle(inVain(job("main", ""))+job("notify", onFailure), func(result reconciler.Result) (bool, string) {
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
	result := w.settle(inVain(job("main", ""))+hook, func(result reconciler.Result) (bool, string) { return len(result.Failures) > 0, notices(result.Waits) })
	if !strings.Contains(result.Aftermath.Problem, "Service "+w.namespace+"/a: rejected by the API server") || result.RequeueAfter > 0 {
		t.Errorf("got %+v", result)
	}
	w.settle(hook, isDone)
	w.requests.Reset()
	if result, err := w.apply(hook); err != nil || !result.Done || result.Aftermath.Problem != "" || len(w.writes()) > 0 {
		t.Errorf("want the problem to be over, got %+v, %v", result, w.writes())
	}
	w.mustDelete()
}

// TestOnFailureThatIsDeclaredAgain declares a hook again before it is deleted: it stays recorded.
func TestOnFailureThatIsDeclaredAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := job("notify", onFailure)
	ended := func(result reconciler.Result) (bool, string) {
		return len(result.Failures) > 0 && len(result.Aftermath.Waits) == 0, notices(result.Waits)
	}
	w.digest = "one"
	w.settle(inVain(job("main", ""))+hook, ended)
	uid := w.get("batch/v1", "Job", "notify").GetUID()
	w.digest = "two"
	w.settle(inVain(job("main", "")), ended)
	w.expectInventory("Job notify ScheduledForDeletion Terminating", "Job main Creating Failed")
	w.digest = "three"
	w.settle(job("other", "")+hook, isDone)
	w.expectInventory("Job notify ScheduledForApplication InProgress", "Job other Ready Current")
	w.digest = "four"
	w.settle(inVain(job("other", "PREFIX/update-policy: recreate"))+hook, ended)
	if w.get("batch/v1", "Job", "notify").GetUID() == uid {
		t.Error("want the hook to run again")
	}
	w.mustDelete()
	if w.get("batch/v1", "Job", "notify") != nil {
		t.Error("the hook was left behind")
	}
}

// TestJobThatEndsUnobserved has a Job end and vanish before a call looks at it, as with a short time to live. The engine has no finalizer on it.
func TestJobThatEndsUnobserved(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"it has succeeded": "Job a Completed ", "it has failed": "Job a Creating InProgress"} {
		w := newWorld(t)
		manifests := job("a", "PREFIX/reconcile-policy: on-object-or-component-change")
		if strings.Contains(reason, "failed") {
			manifests = inVain(manifests)
		}
		if _, err := w.apply(manifests); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, func() (bool, string) {
			job := w.get("batch/v1", "Job", "a")
			conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
			return slices.ContainsFunc(conditions, func(condition any) bool {
				kind, _, _ := unstructured.NestedString(condition.(map[string]any), "type")
				return kind == "Complete" || kind == "Failed"
			}), "the Job has not ended"
		})
		w.remove(w.get("batch/v1", "Job", "a"))
		testenv.Eventually(t, func() (bool, string) { return w.get("batch/v1", "Job", "a") == nil, "the Job is not gone" })
		w.settle(manifests, func(result reconciler.Result) (bool, string) {
			again := w.get("batch/v1", "Job", "a") != nil
			return slices.Equal(w.inventory(), []string{want}) && again == strings.Contains(reason, "failed"), reason + ": " + strings.Join(w.inventory(), ", ")
		})
		w.mustDelete()
	}
}
