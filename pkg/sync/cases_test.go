// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
		phase  string // of the hook
		beside string // a phase of another hook in the same wave, which fails
	}{
		{"HookSucceeded", false, false, "Sync", ""},
		{"HookSucceeded", true, true, "Sync", ""},
		{"HookFailed", false, true, "Sync", ""},
		{"HookFailed", true, false, "Sync", ""},
		{"HookSucceeded,HookFailed", false, false, "Sync", ""},
		{"HookSucceeded,HookFailed", true, false, "Sync", ""},
		{"BeforeHookCreation", false, true, "Sync", ""},
		{"BeforeHookCreation", true, true, "Sync", ""},
		{"HookSucceeded", false, false, "PreSync", "PreSync"},
		{"HookSucceeded", false, false, "SyncFail", "Sync,SyncFail"},
		{"HookFailed", false, true, "PreSync", "PreSync"},
	} {
		t.Run(strings.ReplaceAll(tc.policy, ",", "And")+map[bool]string{true: "Fails"}[tc.fails]+tc.beside, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			hook := job("hook", hookAnnotation, tc.phase, policyAnnotation, tc.policy)
			switch {
			case tc.fails:
				w.fails(w.begin("one", failingJobs(hook)), "Job "+w.namespace+"/hook: ")
			case tc.beside != "":
				w.fails(w.begin("one", hook+failingJobs(job("other", hookAnnotation, tc.beside))), "Job "+w.namespace+"/other: ")
			default:
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

// TestReplacedHooks run in each operation, also if only others have changed, and if they have. So do hooks without a
// name.
func TestReplacedHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hooks := job("replaced", hookAnnotation, "PreSync", optionsAnnotation, "Replace=true") + job("forced", hookAnnotation, "PreSync", optionsAnnotation, "Force=true,Replace=true") +
		job("failing", hookAnnotation, "PreSync", optionsAnnotation, "Force=true,Replace=true", policyAnnotation, "HookFailed") +
		strings.Replace(job("NAME", hookAnnotation, "PreSync"), "name: NAME, ", "", 1)
	seen := map[types.UID]bool{}
	for i, manifests := range []string{hooks, hooks + configMap("a"), strings.ReplaceAll(hooks, "backoffLimit: 0", "backoffLimit: 0\n  completions: 2")} {
		w.succeeds(w.begin(strings.Repeat("x", i+1), manifests))
		for key, object := range w.live() {
			if isNew := strings.HasPrefix(key.Name, "job-"); key.Kind == "Job" && !isNew && seen[object.GetUID()] {
				t.Errorf("operation %d: Job %s has not run again", i+1, key.Name)
			}
			seen[object.GetUID()] = key.Kind == "Job"
		}
	}
	if len(seen) != 13 {
		t.Errorf("want 4 Jobs in each of 3 operations, and a ConfigMap, got %d objects", len(seen))
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
