// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sync"
)

// expect compares sorted or ordered texts.
func (w *world) expect(want, got []string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("(-want +got):\n%s", diff)
	}
}

// succeeds ends an operation that has to succeed, and returns its results.
func (w *world) succeeds(operation sync.SyncContext) []string {
	w.Helper()
	phase, message, results := w.end(operation)
	if phase != sync.OperationSucceeded {
		w.Fatalf("%s: %s; %s", phase, message, strings.Join(results, "\n"))
	}
	return results
}

// fails ends an operation that has to fail with a message that contains a text, and returns its results.
func (w *world) fails(operation sync.SyncContext, text string) []string {
	w.Helper()
	phase, message, results := w.end(operation)
	if phase != sync.OperationFailed || !strings.Contains(message, text) {
		w.Fatalf("want a failure with %q, got %s: %s; %s", text, phase, message, strings.Join(results, "\n"))
	}
	return results
}

// TestOperation runs through all phases, waves and policies with real controllers.
func TestOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := configMap("early", waveAnnotation, "-5") + configMap("main") + configMap("late", waveAnnotation, "7") +
		job("migrate", hookAnnotation, "PreSync", policyAnnotation, "HookSucceeded") + job("report", hookAnnotation, "PostSync", policyAnnotation, "HookSucceeded") +
		job("alert", hookAnnotation, "SyncFail")
	w.expect([]string{
		"PreSync hook Job migrate: Synced Succeeded: completed, and deleted",
		"Sync ConfigMap early: Synced Succeeded: created",
		"Sync ConfigMap main: Synced Succeeded: created",
		"Sync ConfigMap late: Synced Succeeded: created",
		"PostSync hook Job report: Synced Succeeded: completed, and deleted",
	}, w.succeeds(w.begin("one", manifests)))
	w.expect([]string{"ConfigMap early", "ConfigMap late", "ConfigMap main"}, w.exists())

	failing := strings.Replace(manifests, configMap("late", waveAnnotation, "7"), failingJobs(job("work", waveAnnotation, "3")), 1) + configMap("never", waveAnnotation, "8")
	results := w.fails(w.begin("two", failing, sync.WithPrune(true)), "Job "+w.namespace+"/work: ")
	for i, prefix := range []string{
		"Sync ConfigMap early: Synced Succeeded: ", "PreSync hook Job migrate: Synced Succeeded: completed, and deleted",
		"Sync ConfigMap main: Synced Succeeded: ", "Sync Job work: Synced Failed: ", "SyncFail hook Job alert: Synced Succeeded: created",
	} {
		if !slices.ContainsFunc(results, func(result string) bool { return strings.HasPrefix(result, prefix) }) {
			t.Errorf("result %d, %q, is missing in:\n%s", i, prefix, strings.Join(results, "\n"))
		}
	}
	w.expect([]string{"ConfigMap early", "ConfigMap late", "ConfigMap main", "Job alert", "Job work"}, w.exists())
}

// TestPruning prunes what is not declared any more in the reverse order of its waves, unless its annotations, or the
// operation, say otherwise.
func TestPruning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("a", waveAnnotation, "1")+configMap("kept", optionsAnnotation, "Prune=false")+configMap("asked", optionsAnnotation, "Prune=confirm")+
		job("hook", hookAnnotation, "Sync", policyAnnotation, "BeforeHookCreation")))
	all := []string{"ConfigMap a", "ConfigMap asked", "ConfigMap b", "ConfigMap kept", "Job hook"}

	w.expect([]string{
		"Sync ConfigMap a: PruneSkipped Succeeded: kept because pruning is off", "Sync ConfigMap asked: PruneSkipped Succeeded: kept because pruning is off",
		"Sync ConfigMap kept: PruneSkipped Succeeded: kept because pruning is off", "Sync ConfigMap b: Synced Succeeded: created",
	}, w.succeeds(w.begin("two", configMap("b"))))
	w.expect(all, w.exists())

	operation := w.begin("three", configMap("b"), sync.WithPrune(true))
	w.until(operation, func(phase sync.OperationPhase, message string, _ []string) bool {
		return phase == sync.OperationRunning && strings.Contains(message, "ConfigMap "+w.namespace+"/asked")
	})
	w.expect([]string{"ConfigMap asked", "ConfigMap b", "ConfigMap kept", "Job hook"}, w.exists())

	w.expect([]string{
		"Sync ConfigMap kept: PruneSkipped Succeeded: kept because of its annotations", "Sync ConfigMap asked: Pruned Succeeded: pruned", "Sync ConfigMap b: Synced Succeeded: unchanged",
	}, w.succeeds(w.begin("four", configMap("b"), sync.WithPrune(true), sync.WithPruneConfirmed(true))))
	w.expect([]string{"ConfigMap b", "ConfigMap kept", "Job hook"}, w.exists())
}

// TestForeignObjects adopts and prunes objects that this package has not written.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, object := range w.targets(configMap("a") + configMap("b") + configMap("c")) {
		object.SetNamespace(w.namespace)
		if object.GetName() == "c" {
			object.SetLabels(map[string]string{trackingLabel: w.namespace, sync.Name + "/owner-id": "somebody"})
		}
		if err := w.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.expect([]string{
		"Sync ConfigMap c: PruneSkipped Succeeded: belongs to another owner", "Sync ConfigMap b: Pruned Succeeded: pruned", "Sync ConfigMap a: Synced Succeeded: adopted",
	}, w.succeeds(w.begin("one", configMap("a"), sync.WithPrune(true))))
	w.expect([]string{"ConfigMap a", "ConfigMap c"}, w.exists())
	// An object that cannot be marked, because it is invalid, is left alone.
	invalid := w.targets(configMap("invalid"))[0]
	invalid.SetNamespace(w.namespace)
	if err := w.client.Create(t.Context(), invalid); err != nil {
		t.Fatal(err)
	}
	refusing := testenv.Intercept(w.config, func(request *http.Request, base http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodPatch || !strings.HasSuffix(request.URL.Path, "/invalid") {
			return base.RoundTrip(request)
		}
		body := `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422}`
		return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
	})
	w.expect([]string{
		"Sync ConfigMap c: PruneSkipped Succeeded: belongs to another owner",
		"Sync ConfigMap invalid: PruneSkipped Succeeded: stays, because it has neither the owner label nor fields of the field manager of its owner; delete it yourself if nobody needs it",
		"Sync ConfigMap a: Synced Succeeded: unchanged",
	}, w.succeeds(w.beginWith(refusing, "two", configMap("a"), sync.WithPrune(true))))
	w.expect([]string{"ConfigMap a", "ConfigMap c", "ConfigMap invalid"}, w.exists())
}

// record is a store.
type record struct{ inventory []*reconciler.InventoryItem }

func (r *record) Save(_ context.Context, inventory []*reconciler.InventoryItem) error {
	r.inventory = nil
	for _, item := range inventory {
		r.inventory = append(r.inventory, item.DeepCopy())
	}
	return nil
}

// TestNothingToDo writes nothing if all is as declared.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := configMap("a") + configMap("b", waveAnnotation, "2")
	stored := &record{}
	w.succeeds(w.begin("one", manifests, sync.WithStore(stored)))
	if len(stored.inventory) != 2 {
		t.Errorf("the store has %v", stored.inventory)
	}
	config, requests := testenv.CountingConfig(t)
	unchanged := []string{"Sync ConfigMap a: Synced Succeeded: unchanged", "Sync ConfigMap b: Synced Succeeded: unchanged"}
	w.expect(unchanged, w.succeeds(w.beginWith(config, "two", manifests, sync.WithStore(stored), sync.WithInventory(stored.inventory))))
	for _, request := range requests.All() {
		if request.Method != http.MethodGet {
			t.Errorf("%s %s", request.Method, request.Path)
		}
	}
	// Without an inventory, only the API server can tell.
	w.expect(unchanged, w.succeeds(w.begin("three", manifests)))
}

// TestRefusals writes nothing if an object cannot be applied.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	permission := sync.WithPermissionValidator(func(un *unstructured.Unstructured, res *metav1.APIResource) error {
		if res.Name != "configmaps" || res.Kind != "ConfigMap" || !res.Namespaced || res.Version != "v1" {
			return errors.New(res.Group + "/" + res.Version + " " + res.Name + " is not permitted")
		}
		return nil
	})
	unknownField := strings.Replace(configMap("bad"), "\ndata:", "\ndatum: {a: b}\ndata:", 1)
	for _, tc := range []struct {
		reason, manifests, text string
		results                 []string
		options                 []sync.SyncOpt
	}{
		{"an annotation", configMap("bad", waveAnnotation, "first"), "sync-wave", nil, nil},
		{"a phase", configMap("bad", hookAnnotation, "Sometimes"), "Sometimes", nil, nil},
		{"an option that is not possible", configMap("bad", optionsAnnotation, "ServerSideApply=false"), "objects are always applied by the server", nil, nil},
		{"no name", strings.Replace(configMap("bad"), "name: bad", "generateName: bad-", 1), "metadata.name", nil, nil},
		{
			"a value", strings.Replace(job("bad"), "backoffLimit: 0", "backoffLimit: -1", 1), "backoffLimit",
			[]string{"Sync Job bad: SyncFailed Failed: "},
			nil,
		},
		{
			"a value in a SyncFail hook", strings.Replace(job("bad", hookAnnotation, "SyncFail"), "backoffLimit: 0", "backoffLimit: -1", 1), "backoffLimit",
			[]string{"SyncFail hook Job bad: SyncFailed Failed: "},
			nil,
		},
		{
			"a value that may be secret", strings.Replace(job("bad"), "metadata: {", "metadata: {labels: {a: hunter 2}, ", 1), "metadata.labels: Invalid value: ***: ",
			[]string{`Sync Job bad: SyncFailed Failed: rejected by the API server: Job.batch "bad" is invalid: metadata.labels: Invalid value: ***: `},
			nil,
		},
		{"an unknown field", unknownField, "unknown field", []string{"Sync ConfigMap bad: SyncFailed Failed: unknown field"}, nil},
		{"an unknown field, when objects are replaced", unknownField, "unknown field", []string{"Sync ConfigMap bad: SyncFailed Failed: unknown field"}, []sync.SyncOpt{sync.WithReplace(true)}},
		{"a type", "\n---\napiVersion: example.com/v1\nkind: Bad\nmetadata: {name: bad}\n", "Bad", []string{"Sync Bad bad: SyncFailed Failed: "}, nil},
		{
			"missing permissions", job("bad") + failingJobs(job("worse")) + configMap("more"), "not permitted",
			[]string{"Sync Job bad: SyncFailed Failed: batch/v1 jobs is not permitted", "Sync Job worse: SyncFailed Failed: batch/v1 jobs is not permitted"},
			[]sync.SyncOpt{permission},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w := &world{TB: t, namespace: w.namespace, config: w.config, client: w.client}
			operation := w.begin("one", configMap("good", waveAnnotation, "-3")+tc.manifests, tc.options...)
			results := w.fails(operation, tc.text)
			slices.Sort(results)
			if len(results) != len(tc.results) {
				_, message, _ := operation.GetState()
				t.Fatalf("got %q, %s", results, message)
			}
			for i, want := range tc.results {
				if !strings.HasPrefix(results[i], want) {
					t.Errorf("want %q, got %q", want, results[i])
				}
			}
			w.expect(nil, w.exists())
		})
	}
	w.succeeds(w.begin("one", unknownField, sync.WithManifestValidation(false)))
	w.succeeds(w.begin("two", strings.Replace(unknownField, "annotations: {", "annotations: {"+optionsAnnotation+": Validate=false", 1)))
}

// TestWaveHook is called after each wave that was written, and can stop an operation.
func TestWaveHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := job("migrate", hookAnnotation, "PreSync", waveAnnotation, "-1") + configMap("a") + configMap("b") + configMap("c", waveAnnotation, "4") + job("report", hookAnnotation, "PostSync") +
		job("alert", hookAnnotation, "SyncFail")
	var calls []string
	note := func(phase sync.SyncPhase, wave int, final bool) error {
		calls = append(calls, strings.Join([]string{string(phase), map[bool]string{true: "final"}[final]}, " ")+" "+string(rune('0'+wave+1)))
		return nil
	}
	w.succeeds(w.begin("one", manifests, sync.WithSyncWaveHook(note)))
	w.expect([]string{"PreSync  0", "Sync  1", "Sync  5", "PostSync final 1"}, calls)

	operation := w.begin("two", unending(manifests), sync.WithSyncWaveHook(func(sync.SyncPhase, int, bool) error { return errors.New("not today") }))
	phase, message, results := w.end(operation)
	if phase != sync.OperationError || message != "wave hook, wave -1 of PreSync: not today" {
		t.Errorf("%s: %s", phase, message)
	}
	w.expect([]string{"PreSync hook Job migrate: Synced Failed: terminated"}, results)
	testenv.Eventually(t, func() (bool, string) {
		key := sync.NewResourceKey("batch", "Job", w.namespace, "migrate")
		return w.live()[key] == nil, "the hook is still there"
	})
}

// TestDryRun reports what would be done.
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("a")+configMap("gone")+configMap("kept", optionsAnnotation, "Prune=false")))
	changed := strings.Replace(configMap("a"), "k: v", "k: w", 1)
	dry := func(options ...sync.SyncOpt) []string {
		w.Helper()
		results := w.succeeds(w.begin("two", changed+configMap("new")+job("migrate", hookAnnotation, "PreSync"), options...))
		slices.Sort(results)
		return results
	}
	w.expect([]string{
		"PreSync hook Job migrate: Synced Succeeded: would be created", "Sync ConfigMap a: Synced Succeeded: would be updated", "Sync ConfigMap gone: Pruned Succeeded: would be pruned",
		"Sync ConfigMap kept: PruneSkipped Succeeded: kept because of its annotations", "Sync ConfigMap new: Synced Succeeded: would be created",
	}, dry(sync.WithOperationSettings(true, true, false, false)))
	w.expect([]string{
		"Sync ConfigMap a: Synced Succeeded: would be updated", "Sync ConfigMap gone: PruneSkipped Succeeded: kept because pruning is off",
		"Sync ConfigMap kept: PruneSkipped Succeeded: kept because pruning is off", "Sync ConfigMap new: Synced Succeeded: would be created",
	}, dry(sync.WithOperationSettings(true, false, false, true)))
	w.expect([]string{"ConfigMap a", "ConfigMap gone", "ConfigMap kept"}, w.exists())
}

// TestFilter neither writes nor prunes what it excludes.
func TestFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("a")+configMap("b")+configMap("old-a")+configMap("old-b")))
	filter := func(key sync.ResourceKey, target, live *unstructured.Unstructured) bool {
		if target == nil && live == nil {
			t.Error("there is neither a target nor a live object")
		}
		return strings.HasSuffix(key.Name, "a")
	}
	changed := strings.ReplaceAll(configMap("a")+configMap("b"), "k: v", "k: w")
	w.expect([]string{"Sync ConfigMap old-a: Pruned Succeeded: pruned", "Sync ConfigMap a: Synced Succeeded: updated"},
		w.succeeds(w.begin("two", changed, sync.WithPrune(true), sync.WithResourcesFilter(filter))))
	w.expect([]string{"ConfigMap a", "ConfigMap b", "ConfigMap old-b"}, w.exists())
	if value, _, _ := unstructured.NestedString(w.live()[sync.NewResourceKey("", "ConfigMap", w.namespace, "b")].Object, "data", "k"); value != "v" {
		t.Errorf("ConfigMap b has value %q", value)
	}
}

// TestHealthOverride has health rules of its own.
func TestHealthOverride(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	override := health{
		"progressing": {Status: sync.HealthStatusProgressing, Message: "half way"}, "degraded": {Status: sync.HealthStatusDegraded, Message: "broken"},
		"suspended": {Status: sync.HealthStatusSuspended}, "missing": {Status: sync.HealthStatusMissing, Message: "no volume"}, "unknown": {Status: sync.HealthStatusUnknown}, "fine": {Status: sync.HealthStatusHealthy},
	}
	w.succeeds(w.begin("one", unending(job("fine"))+configMap("other"), sync.WithHealthOverride(override)))
	w.fails(w.begin("two", unending(job("fine"))+configMap("degraded"), sync.WithHealthOverride(override)), "ConfigMap "+w.namespace+"/degraded: broken")
	for name, text := range map[string]string{"progressing": "half way", "suspended": "health: Suspended", "missing": "no volume", "unknown": "health: Unknown"} {
		operation := w.begin("three", configMap(name)+configMap("last", waveAnnotation, "1"), sync.WithHealthOverride(override))
		w.until(operation, func(phase sync.OperationPhase, message string, _ []string) bool {
			return phase == sync.OperationRunning && message == "waiting for ConfigMap "+w.namespace+"/"+name+" ("+text+")"
		})
	}
}

type health map[string]sync.HealthStatus

func (h health) GetResourceHealth(object *unstructured.Unstructured) (*sync.HealthStatus, error) {
	if found, ok := h[object.GetName()]; ok {
		return &found, nil
	}
	return nil, nil
}

// TestTypes applies a type with its first object. Before the type exists, the API server cannot check the object.
func TestTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	crd := w.widgets("Namespaced", "size: {type: integer}")
	widget := "\n---\napiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: one, annotations: {" + hookAnnotation + ": PreSync}}\nspec: {size: 3}\n"
	results := w.fails(w.begin("one", crd+strings.Replace(widget, "size: 3", "size: big", 1)), "size")
	if len(results) != 2 || !strings.HasPrefix(results[1], "PreSync hook Widget one: SyncFailed Failed: ") {
		t.Errorf("got %q", results)
	}
	w.expect([]string{
		"PreSync CustomResourceDefinition widgets." + group + ": Synced Succeeded: unchanged", "PreSync hook Widget one: Synced Succeeded: created",
	}, w.succeeds(w.begin("two", widget+crd)))
}

// TestRefusalBesideAHook waits until a hook that is running has ended, and deletes it as its policy says, before the
// operation fails. The dry run accepts each of two Jobs, of which the quota allows one.
func TestRefusalBesideAHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.limit("jobs.batch")
	hooks := job("a", hookAnnotation, "PreSync", policyAnnotation, "HookSucceeded") + job("b", hookAnnotation, "PreSync", policyAnnotation, "HookSucceeded")
	manifests := hooks + configMap("alert", hookAnnotation, "SyncFail")
	results := w.fails(w.begin("one", manifests), "exceeded quota")
	for _, want := range []string{": Synced Succeeded: ", ": SyncFailed Failed: ", "SyncFail hook ConfigMap alert: Synced Succeeded: created"} {
		if !slices.ContainsFunc(results, func(result string) bool {
			return strings.Contains(result, want) && (strings.Contains(result, "PreSync hook Job") || strings.HasPrefix(result, want))
		}) {
			t.Errorf("%q is missing in:\n%s", want, strings.Join(results, "\n"))
		}
	}
	testenv.Eventually(t, func() (bool, string) {
		names := w.exists()
		return slices.Equal(names, []string{"ConfigMap alert"}), strings.Join(names, ", ")
	})
}
