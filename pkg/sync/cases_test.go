// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sync"
)

// withFinalizer keeps an object of the application from going away.
func (w *world) withFinalizer(kind, name string, finalizers ...string) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		for key, object := range w.live() {
			if key.Kind == kind && key.Name == name {
				object.SetFinalizers(finalizers)
				if err := w.client.Update(w.Context(), object, client.FieldOwner("somebody")); err != nil {
					return false, err.Error()
				}
			}
		}
		return true, ""
	})
}

// TestHookDeletePolicies deletes a hook according to its own outcome, whatever becomes of the operation.
func TestHookDeletePolicies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy string
		fails  bool
		stays  bool
	}{
		{"HookSucceeded", false, false},
		{"HookSucceeded", true, true},
		{"HookFailed", false, true},
		{"HookFailed", true, false},
		{"HookSucceeded,HookFailed", false, false},
		{"HookSucceeded,HookFailed", true, false},
		{"BeforeHookCreation", false, true},
		{"BeforeHookCreation", true, true},
	} {
		t.Run(strings.ReplaceAll(tc.policy, ",", "And")+map[bool]string{true: "Fails"}[tc.fails], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			hook := job("hook", hookAnnotation, "Sync", policyAnnotation, tc.policy)
			if tc.fails {
				w.fails(w.begin("one", inVain(hook)), "Job "+w.namespace+"/hook: ")
			} else {
				w.succeeds(w.begin("one", hook))
			}
			testenv.Eventually(t, func() (bool, string) {
				exists := slices.Contains(w.exists(), "Job hook")
				return exists == tc.stays, "the hook exists: " + map[bool]string{true: "yes", false: "no"}[exists]
			})
		})
	}
}

// TestBeforeHookCreation recreates a hook in each operation, and waits until the former one is gone.
func TestBeforeHookCreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := sync.NewResourceKey("batch", "Job", w.namespace, "hook")
	w.succeeds(w.begin("one", job("hook", hookAnnotation, "Sync")))
	before := w.live()[key].GetUID()
	w.withFinalizer("Job", "hook", "example.com/stay")
	operation := w.begin("two", job("hook", hookAnnotation, "Sync"))
	w.until(operation, func(_ sync.OperationPhase, message string, _ []string) bool {
		return strings.HasPrefix(message, "waiting for hook Job "+w.namespace+"/hook (being deleted")
	})
	w.withFinalizer("Job", "hook")
	w.succeeds(operation)
	if after := w.live()[key].GetUID(); after == before {
		t.Error("the hook is the same")
	}
}

// TestPruneOrder waits until what is pruned in one wave is gone before it prunes or applies in the next one.
func TestPruneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("first", waveAnnotation, "-1")+configMap("second")+configMap("third", waveAnnotation, "2")))
	w.withFinalizer("ConfigMap", "third", "example.com/stay")
	operation := w.begin("two", configMap("early", waveAnnotation, "-2")+configMap("late", waveAnnotation, "1"), sync.WithPrune(true))
	w.until(operation, func(_ sync.OperationPhase, message string, _ []string) bool {
		return strings.HasPrefix(message, "waiting for ConfigMap "+w.namespace+"/third (being deleted")
	})
	w.expect([]string{"ConfigMap early", "ConfigMap first", "ConfigMap second"}, w.exists())
	w.withFinalizer("ConfigMap", "second", "example.com/stay")
	w.withFinalizer("ConfigMap", "third")
	w.until(operation, func(_ sync.OperationPhase, message string, _ []string) bool {
		return strings.HasPrefix(message, "waiting for ConfigMap "+w.namespace+"/second (being deleted")
	})
	w.expect([]string{"ConfigMap early", "ConfigMap first"}, w.exists())
	w.withFinalizer("ConfigMap", "second")
	w.succeeds(operation)
	w.expect([]string{"ConfigMap early", "ConfigMap late"}, w.exists())
}

// TestPruneLast prunes when everything is applied and healthy, also with negative waves only.
func TestPruneLast(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		annotations []string
		options     []sync.SyncOpt
	}{
		"Operation": {[]string{waveAnnotation, "-5"}, []sync.SyncOpt{sync.WithPrune(true), sync.WithPruneLast(true)}},
		"Object":    {[]string{waveAnnotation, "-5", optionsAnnotation, "PruneLast=true"}, []sync.SyncOpt{sync.WithPrune(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.succeeds(w.begin("one", configMap("old", tc.annotations...)))
			operation := w.begin("two", unending(job("work", waveAnnotation, "-3")), tc.options...)
			w.until(operation, runs("Job work"))
			w.expect([]string{"ConfigMap old", "Job work"}, w.exists())
			operation.Terminate(t.Context())
			results := w.succeeds(w.begin("three", configMap("new", waveAnnotation, "-2"), tc.options...))
			if last := results[len(results)-1]; !strings.HasPrefix(last, "Sync ConfigMap old: Pruned ") && !strings.HasPrefix(last, "Sync Job work: Pruned ") {
				t.Errorf("got %q", results)
			}
			w.expect([]string{"ConfigMap new"}, w.exists())
		})
	}
}

// TestRepair goes on with the wave that has failed, and does not write what is as declared.
func TestRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := &record{}
	manifests := func(fails bool) string {
		work := job("work", waveAnnotation, "1", optionsAnnotation, "Force=true")
		if fails {
			work = inVain(work)
		}
		return configMap("early", waveAnnotation, "-1") + work + configMap("late", waveAnnotation, "2")
	}
	w.fails(w.begin("one", manifests(true), sync.WithStore(stored)), "Job "+w.namespace+"/work: ")
	w.expect([]string{"ConfigMap early", "Job work"}, w.exists())
	w.expect([]string{"Sync ConfigMap early: Synced Succeeded: unchanged", "Sync Job work: Synced Succeeded: updated", "Sync ConfigMap late: Synced Succeeded: created"},
		w.succeeds(w.begin("two", manifests(false), sync.WithStore(stored), sync.WithInventory(stored.inventory))))
}

// TestConfirmWithoutPruning asks for nothing if nothing is pruned.
func TestConfirmWithoutPruning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("a", optionsAnnotation, "Prune=confirm")))
	w.expect([]string{"Sync ConfigMap a: PruneSkipped Succeeded: stays, because nothing is to be pruned"}, w.succeeds(w.begin("two", "")))
}

// TestSkippedHooks leaves hooks alone, declared or not, recorded or not.
func TestSkippedHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := &record{}
	w.succeeds(w.begin("one", job("a", hookAnnotation, "PreSync")+job("b", hookAnnotation, "PostSync")+configMap("c"), sync.WithStore(stored)))
	for range 2 {
		w.expect([]string{"Sync ConfigMap c: Synced Succeeded: unchanged"}, w.succeeds(w.begin("two", job("a", hookAnnotation, "PreSync")+configMap("c"), sync.WithSkipHooks(true), sync.WithPrune(true),
			sync.WithStore(stored), sync.WithInventory(stored.inventory))))
	}
	w.expect([]string{"ConfigMap c", "Job a", "Job b"}, w.exists())
	if len(stored.inventory) != 3 {
		t.Errorf("the inventory has %d items", len(stored.inventory))
	}
	// Hooks that are recorded and not declared any more go.
	results := w.succeeds(w.begin("three", configMap("c"), sync.WithPrune(true), sync.WithStore(stored), sync.WithInventory(stored.inventory)))
	w.expect([]string{"ConfigMap c"}, w.exists())
	if len(stored.inventory) != 1 || len(results) != 3 {
		t.Errorf("the inventory has %d items; %q", len(stored.inventory), results)
	}
}

// TestFilterAndInventory keeps what is excluded in the inventory.
func TestFilterAndInventory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := &record{}
	w.succeeds(w.begin("one", configMap("a")+configMap("b"), sync.WithStore(stored)))
	only := sync.WithResourcesFilter(func(key sync.ResourceKey, _, _ *unstructured.Unstructured) bool { return key.Name == "a" })
	w.expect([]string{"Sync ConfigMap a: Pruned Succeeded: pruned"}, w.succeeds(w.begin("two", "", only, sync.WithPrune(true), sync.WithStore(stored), sync.WithInventory(stored.inventory))))
	w.expect([]string{"ConfigMap b"}, w.exists())
	if len(stored.inventory) != 1 || stored.inventory[0].Name != "b" {
		t.Errorf("the inventory has %v", stored.inventory)
	}
}

// TestChangedRoles turns hooks into other objects, and back.
func TestChangedRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := &record{}
	for i, manifests := range []string{job("a", hookAnnotation, "PreSync"), job("a"), job("a", hookAnnotation, "PostSync"), job("a")} {
		w.succeeds(w.begin(strings.Repeat("x", i+1), manifests, sync.WithPrune(true), sync.WithStore(stored), sync.WithInventory(stored.inventory)))
		w.expect([]string{"Job a"}, w.exists())
	}
}

// TestOwners keeps two owners in one namespace apart.
func TestOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := sync.WithOwner(w.namespace+"/one"), sync.WithOwner(w.namespace+"/two")
	w.succeeds(w.begin("one", configMap("a"), one))
	// The second owner takes over what it declares, and does not prune what the first one has marked.
	w.expect([]string{"Sync ConfigMap a: PruneSkipped Succeeded: belongs to another owner", "Sync ConfigMap b: Synced Succeeded: created"},
		w.succeeds(w.begin("two", configMap("b"), two, sync.WithPrune(true))))
	w.succeeds(w.begin("two", configMap("a"), two))
	w.expect([]string{"Sync ConfigMap b: PruneSkipped Succeeded: belongs to another owner", "Sync ConfigMap a: PruneSkipped Succeeded: belongs to another owner"},
		sorted(w.succeeds(w.begin("one", "", one, sync.WithPrune(true)))))
}

// sorted sorts in descending order.
func sorted(texts []string) []string {
	slices.SortFunc(texts, func(a, b string) int { return strings.Compare(b, a) })
	return texts
}

// TestSkippedObjects neither applies nor prunes what is declared to be skipped.
func TestSkippedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("a")+configMap("b")))
	skipped := strings.Replace(configMap("a", hookAnnotation, "Skip"), "k: v", "k: w", 1) + configMap("b", hookAnnotation, "PreDelete")
	w.expect([]string{}, w.succeeds(w.begin("two", skipped, sync.WithPrune(true))))
	w.expect([]string{"ConfigMap a", "ConfigMap b"}, w.exists())
}

// TestOutcomeBeforeDeletion says that a hook has succeeded while its object still exists, so that another process knows.
func TestOutcomeBeforeDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	jobs := w.jobs()
	manifests := job("migrate", hookAnnotation, "PreSync", policyAnnotation, "HookSucceeded") + configMap("a")
	start := startedAt()
	operation := w.begin("one", manifests, sync.WithInitialState("", "", nil, start))
	var phase sync.OperationPhase
	var message string
	var results []sync.ResourceSyncResult
	w.until(operation, func(sync.OperationPhase, string, []string) bool {
		phase, message, results = operation.GetState()
		return len(results) > 0 && results[0].HookPhase == sync.OperationSucceeded
	})
	w.expect([]string{"Job migrate"}, w.exists())
	w.succeeds(operation)
	w.expect([]string{"ConfigMap a"}, w.exists())
	// Another process only knows that the hook has succeeded.
	w.expect([]string{"PreSync hook Job migrate: Synced Succeeded: created", "Sync ConfigMap a: Synced Succeeded: updated"},
		w.succeeds(w.begin("one", manifests, sync.WithInitialState(phase, message, results, start))))
	w.expect([]string{"migrate"}, jobs())
}

// TestNewHook turns an object that others have made into a hook.
func TestNewHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, object := range w.targets(configMap("a")) {
		object.SetNamespace(w.namespace)
		if err := w.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.expect([]string{"PreSync hook ConfigMap a: Synced Succeeded: adopted"}, w.succeeds(w.begin("one", configMap("a", hookAnnotation, "PreSync"), sync.WithPrune(true))))
}

// TestFinalizers removes finalizers of hooks, however the operation ends.
func TestFinalizers(t *testing.T) {
	t.Parallel()
	finalizers := func(w *world, name string) []string {
		w.Helper()
		if job := w.live()[sync.NewResourceKey("batch", "Job", w.namespace, name)]; job != nil {
			return job.GetFinalizers()
		}
		return nil
	}
	hook := job("hook", hookAnnotation, "Sync", policyAnnotation, "HookSucceeded")
	t.Run("Failed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.fails(w.begin("one", inVain(hook)), "Job "+w.namespace+"/hook: ")
		w.expect(nil, finalizers(w, "hook"))
	})
	t.Run("Abandoned", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.until(w.begin("one", unending(hook)), runs("Job hook"))
		w.expect([]string{sync.Name + "/outcome"}, finalizers(w, "hook"))
		w.succeeds(w.begin("two", configMap("a"), sync.WithSkipHooks(true)))
		w.expect(nil, finalizers(w, "hook"))
	})
	t.Run("Terminated", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		short := strings.Replace(unending(job("short")), "spec:\n", "spec:\n  ttlSecondsAfterFinished: 100\n", 1)
		operation := w.begin("one", short)
		w.until(operation, runs("Job short"))
		w.expect([]string{sync.Name + "/outcome"}, finalizers(w, "short"))
		operation.Terminate(t.Context())
		w.expect(nil, finalizers(w, "short"))
		w.expect([]string{"Job short"}, w.exists())
	})
}

// TestMissingPermission runs SyncFail hooks, too.
func TestMissingPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.mayNot("delete")
	w.succeeds(w.begin("one", configMap("a")+configMap("b")))
	results := w.fails(w.beginWith(config, "two", configMap("b")+configMap("alert", hookAnnotation, "SyncFail"), sync.WithPrune(true)), "cannot delete")
	if !slices.Contains(results, "SyncFail hook ConfigMap alert: Synced Succeeded: created") || !slices.ContainsFunc(results, func(result string) bool { return strings.HasPrefix(result, "Sync ConfigMap a: SyncFailed Failed: ") }) {
		t.Errorf("got %q", results)
	}
}

// TestUnknownFieldInANewNamespace is found although no dry run is possible.
func TestUnknownFieldInANewNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace = testenv.UniqueName(t)
	namespace := "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + w.namespace + "}\n"
	results := w.fails(w.begin("one", namespace+strings.Replace(configMap("a"), "\ndata:", "\ndatum: {a: b}\ndata:", 1)), `unknown field "datum"`)
	if len(results) != 1 || w.namespaceObject() != nil {
		t.Errorf("got %q", results)
	}
}

// TestClientSideApply removes what others have applied on the client, and is not declared any more.
func TestClientSideApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, object := range w.targets(strings.Replace(configMap("a"), "k: v", "k: v, old: x", 1)) {
		object.SetNamespace(w.namespace)
		if err := w.client.Create(t.Context(), object, client.FieldOwner("kubectl-client-side-apply")); err != nil {
			t.Fatal(err)
		}
	}
	w.succeeds(w.begin("one", configMap("a")))
	data, _, _ := unstructured.NestedMap(w.live()[sync.NewResourceKey("", "ConfigMap", w.namespace, "a")].Object, "data")
	if len(data) != 1 {
		t.Errorf("got %v", data)
	}
}

// TestWaitEnds ends when the operation is terminated.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("asked", optionsAnnotation, "Prune=confirm")))
	operation := w.begin("two", configMap("b"), sync.WithPrune(true))
	w.until(operation, func(_ sync.OperationPhase, message string, results []string) bool {
		return strings.HasPrefix(message, "waiting for approval") && len(results) == 1
	})
	ended := make(chan error)
	go func() {
		for {
			err := operation.Wait(t.Context())
			if phase, _, _ := operation.GetState(); err != nil || phase.Completed() {
				ended <- err
				return
			}
		}
	}()
	time.Sleep(100 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	operation.Terminate(ctx)
	if err := testenv.Receive(t, ended, "the end"); err != nil {
		t.Error(err)
	}
	if phase, message, _ := operation.GetState(); phase != sync.OperationFailed {
		t.Errorf("%s: %s", phase, message)
	}
}

// TestSkippedObjectsAndInventory are not pruned, even if they are recorded.
func TestSkippedObjectsAndInventory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := &record{}
	w.succeeds(w.begin("one", configMap("a")+configMap("b"), sync.WithStore(stored)))
	w.succeeds(w.begin("two", configMap("a", hookAnnotation, "Skip")+configMap("b", hookAnnotation, "PreSync"), sync.WithPrune(true), sync.WithSkipHooks(true), sync.WithStore(stored),
		sync.WithInventory(stored.inventory)))
	w.expect([]string{"ConfigMap a", "ConfigMap b"}, w.exists())
}

// TestFailureHooksOfEarlierOperations neither holds up the next operation, nor is reported by it.
func TestFailureHooksOfEarlierOperations(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]*record{"WithoutInventory": nil, "WithInventory": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			options := func() []sync.SyncOpt {
				if stored == nil {
					return nil
				}
				return []sync.SyncOpt{sync.WithStore(stored), sync.WithInventory(stored.inventory)}
			}
			hooks := job("migrate", hookAnnotation, "PreSync") + unending(job("alert", hookAnnotation, "SyncFail"))
			w.until(w.begin("one", hooks+inVain(job("work")), options()...), runs("Job alert"))
			w.expect([]string{
				"Sync Job work: PruneSkipped Succeeded: stays, because nothing is to be pruned", "PreSync hook Job migrate: Synced Succeeded: updated", "Sync ConfigMap a: Synced Succeeded: created",
			}, w.succeeds(w.begin("two", hooks+configMap("a"), options()...)))
			if finalizers := w.live()[sync.NewResourceKey("batch", "Job", w.namespace, "alert")].GetFinalizers(); len(finalizers) > 0 {
				t.Errorf("the former hook has finalizers %v", finalizers)
			}
		})
	}
}

// TestRecovery fails nevertheless once SyncFail hooks have begun.
func TestRecovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	override := &switched{}
	override.failing.Store(true)
	operation := w.begin("one", configMap("a")+unending(job("alert", hookAnnotation, "SyncFail")), sync.WithHealthOverride(override))
	w.until(operation, runs("Job alert"))
	override.failing.Store(false)
	for key, object := range w.live() {
		if key.Name == "a" {
			object.SetLabels(map[string]string{trackingLabel: w.namespace, "example.com/touched": "yes"})
		} else if key.Kind == "Job" {
			object.SetAnnotations(map[string]string{"example.com/healthy": "yes"})
		}
		if err := w.client.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.fails(operation, "which is healthy now")
}

// switched says that ConfigMaps fail, and that Jobs are healthy afterwards.
type switched struct{ failing atomic.Bool }

func (s *switched) GetResourceHealth(object *unstructured.Unstructured) (*sync.HealthStatus, error) {
	switch {
	case object.GetKind() == "ConfigMap" && s.failing.Load():
		return &sync.HealthStatus{Status: sync.HealthStatusDegraded, Message: "broken"}, nil
	case object.GetKind() == "Job" && !s.failing.Load():
		return &sync.HealthStatus{Status: sync.HealthStatusHealthy}, nil
	}
	return nil, nil
}

// TestUpgradeOfAType applies a field with the definition that declares it.
func TestUpgradeOfAType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	crd := func(properties string) string {
		return strings.NewReplacer("GROUP", group, "PROPERTIES", properties).Replace(`
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {PROPERTIES}}}}}}]
`)
	}
	widget := func(name, spec string) string {
		return "\n---\napiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: " + w.namespace + "-" + name + "}\nspec: {" + spec + "}\n"
	}
	t.Cleanup(func() {
		definition := testenv.Object(t, crd(""))
		if err := w.client.Delete(context.WithoutCancel(t.Context()), definition); err != nil {
			t.Log(err)
		}
	})
	port := "port: {x-kubernetes-int-or-string: true, format: int-or-string}, at: {type: string, format: strange, nullable: true}"
	results := w.succeeds(w.begin("one", crd(port)+widget("a", "port: 80, at: now")))
	if len(results) != 2 || results[1] != "Sync Widget "+w.namespace+"-a: Synced Succeeded: created" {
		t.Errorf("got %q", results)
	}
	w.succeeds(w.begin("two", crd(port+", size: {type: integer}")+widget("a", "port: http, size: 3")+widget("b", "size: 4")))
	results = w.fails(w.begin("three", crd(port+", size: {type: integer}, more: {type: integer}")+widget("c", "more: much")), "more")
	if len(results) != 1 || !strings.HasPrefix(results[0], "Sync Widget "+w.namespace+"-c: SyncFailed Failed: does not fit the definition of its type: spec.more") {
		t.Errorf("got %q", results)
	}
}
