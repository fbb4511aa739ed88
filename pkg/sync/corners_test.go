// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sync"
)

// TestSkippedObjects neither applies nor prunes what is declared to be skipped.
func TestSkippedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.succeeds(w.begin("one", configMap("a")+configMap("b")))
	skipped := strings.Replace(configMap("a", hookAnnotation, "Skip"), "k: v", "k: w", 1) + configMap("b", hookAnnotation, "PreDelete")
	w.expect([]string{}, w.succeeds(w.begin("two", skipped, sync.WithPrune(true))))
	w.expect([]string{"ConfigMap a", "ConfigMap b"}, w.exists())
}

// TestOutcomeBeforeDeletion says that a hook has succeeded while its object still exists, so that another process
// knows.
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

// TestOutcomeBeforeRemoval says that a hook has succeeded while its object still exists, although Kubernetes has
// requested its deletion before.
func TestOutcomeBeforeRemoval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	short := func() *unstructured.Unstructured {
		return w.live()[sync.NewResourceKey("batch", "Job", w.namespace, "short")]
	}
	operation := w.begin("one", removingItself(job("short", hookAnnotation, "PreSync"), 0)+configMap("a"))
	operation.Sync(t.Context())
	testenv.Eventually(t, func() (bool, string) {
		live := short()
		return live != nil && live.GetDeletionTimestamp() != nil && len(live.GetFinalizers()) == 1, "Job short is not being deleted"
	})
	w.until(operation, func(_ sync.OperationPhase, _ string, results []string) bool {
		return len(results) > 0 && strings.Contains(results[0], "Job short: Synced Succeeded: ")
	})
	if short() == nil {
		t.Error("another process does not know that the hook has succeeded")
	}
	w.succeeds(operation)
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
		w.fails(w.begin("one", failingJobs(hook)), "Job "+w.namespace+"/hook: ")
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
	t.Run("NotDeclared", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.until(w.begin("one", removingItself(unending(job("short")), 100)), runs("Job short"))
		w.expect([]string{sync.Name + "/outcome"}, finalizers(w, "short"))
		w.succeeds(w.begin("two", configMap("a")))
		w.expect(nil, finalizers(w, "short"))
	})
	t.Run("Terminated", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		operation := w.begin("one", removingItself(unending(job("short")), 100))
		w.until(operation, runs("Job short"))
		w.expect([]string{sync.Name + "/outcome"}, finalizers(w, "short"))
		operation.Terminate(t.Context())
		w.expect(nil, finalizers(w, "short"))
		w.expect([]string{"Job short"}, w.exists())
	})
}

// TestHooksThatArgoCDHasRun takes over hooks that Argo CD has run, and left with its finalizer: those that run again,
// one that is updated, one that is being deleted, and one that is not declared any more.
func TestHooksThatArgoCDHasRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	declared := job("again", hookAnnotation, "PreSync") + configMap("updated", hookAnnotation, "PreSync") + job("leaving", hookAnnotation, "PreSync")
	hooks := w.targets(declared + job("undeclared", hookAnnotation, "PreSync") + job("unlisted", hookAnnotation, "PreSync"))
	for _, hook := range hooks {
		hook.SetNamespace(w.namespace)
		hook.SetFinalizers([]string{"argocd.argoproj.io/hook-finalizer"})
		if hook.GetName() == "unlisted" {
			hook.SetLabels(nil)
		}
		if err := w.client.Create(t.Context(), hook); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.client.Delete(t.Context(), hooks[2]); err != nil {
		t.Fatal(err)
	}
	w.succeeds(w.begin("one", declared+job("unlisted", hookAnnotation, "PreSync")))
	w.expect([]string{"ConfigMap updated", "Job again", "Job leaving", "Job undeclared", "Job unlisted"}, w.exists())
	for key, object := range w.live() {
		isNew := !slices.ContainsFunc(hooks, func(hook *unstructured.Unstructured) bool { return hook.GetUID() == object.GetUID() })
		if stays := key.Name == "updated" || key.Name == "undeclared"; isNew == stays || len(object.GetFinalizers()) > 0 {
			t.Errorf("%s: new: %t, finalizers %v", key.Name, isNew, object.GetFinalizers())
		}
	}
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
	_, message, _ := w.end(w.beginWith(config, "three", configMap("b"), sync.WithPrune(true)))
	w.expect([]string{fmt.Sprintf(`ConfigMap %[1]s/a: configmaps "a" is forbidden: User "without-delete-%[1]s" cannot delete resource "configmaps" in API group "" in the namespace "%[1]s"`, w.namespace)},
		[]string{message})
	// The reason has several lines, and is longer than the message of a result.
	denial := "no\n" + strings.Repeat("x", 2<<10)
	denying := testenv.Intercept(w.config, func(request *http.Request, base http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodDelete {
			return base.RoundTrip(request)
		}
		status := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New(denial)).Status()
		status.APIVersion, status.Kind = "v1", "Status"
		body, err := json.Marshal(status)
		return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: request}, err
	})
	_, message, _ = w.end(w.beginWith(denying, "four", configMap("b"), sync.WithPrune(true)))
	if strings.Count(message, "no\n") != 1 || !strings.HasPrefix(message, "ConfigMap "+w.namespace+"/a: ") || len(message) > 1200 {
		t.Errorf("got %d bytes: %s", len(message), message)
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
			w.until(w.begin("one", hooks+failingJobs(job("work")), options()...), runs("Job alert"))
			w.expect([]string{
				"Sync Job work: PruneSkipped Succeeded: kept because pruning is off", "PreSync hook Job migrate: Synced Succeeded: updated", "Sync ConfigMap a: Synced Succeeded: created",
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
		// A patch: the controller of Jobs writes at the same time.
		var patch string
		switch {
		case key.Name == "a":
			patch = `{"metadata":{"labels":{"example.com/touched":"yes"}}}`
		case key.Kind == "Job":
			patch = `{"metadata":{"annotations":{"example.com/healthy":"yes"}}}`
		default:
			continue
		}
		if err := w.client.Patch(t.Context(), object, client.RawPatch(apitypes.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	w.fails(operation, "because of an earlier failure")
}

// switched says that ConfigMaps fail, and that Jobs are healthy afterwards.
type switched struct{ failing atomic.Bool }

func (s *switched) GetResourceHealth(object *unstructured.Unstructured) (*sync.HealthStatus, error) {
	switch {
	case object.GetKind() == "ConfigMap" && s.failing.Load():
		return &sync.HealthStatus{Status: sync.HealthStatusDegraded, Message: "broken"}, nil
	case object.GetKind() == "Job" && !s.failing.Load() && object.GetAnnotations()["example.com/healthy"] == "yes":
		return &sync.HealthStatus{Status: sync.HealthStatusHealthy}, nil
	}
	return nil, nil
}

// TestUpgradeOfAType applies a field with the definition that declares it.
func TestUpgradeOfAType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	crd := func(properties string) string { return w.widgets("Cluster", properties) }
	widget := func(name, spec string) string {
		return "\n---\napiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: " + w.namespace + "-" + name + "}\nspec: {" + spec + "}\n"
	}
	port := "port: {x-kubernetes-int-or-string: true, format: int-or-string}, at: {type: string, format: strange, nullable: true}"
	results := w.succeeds(w.begin("one", crd(port)+widget("a", "port: 80, at: now")))
	if len(results) != 2 || results[1] != "Sync Widget "+w.namespace+"-a: Synced Succeeded: created" {
		t.Errorf("got %q", results)
	}
	w.succeeds(w.begin("two", crd(port+", size: {type: integer}")+widget("a", "port: http, size: 3")+widget("b", "size: 4")))
}

// TestPruningOfWhatContainsOthers prunes a definition of a type, or a Namespace, after what would be deleted with it,
// and not at all if some of that stays. Nothing is recorded: the operation knows what exists, and nothing more.
func TestPruningOfWhatContainsOthers(t *testing.T) {
	t.Parallel()
	const pruned, kept = "Pruned Succeeded: pruned", "PruneSkipped Succeeded: kept because of its annotations"
	const keptFor = "PruneSkipped Succeeded: kept because OBJECT, which stays, depends on it"
	namespaceOnly := sync.WithResourcesFilter(func(key sync.ResourceKey, _, _ *unstructured.Unstructured) bool { return key.Namespace == "" })
	for name, tc := range map[string]struct {
		outer, inner        []string
		innerLabel          string
		unknown             []string // kinds of objects that are only recorded
		declared            []string // kinds of objects that are still declared
		options             []sync.SyncOpt
		wantInner, wantThem string // the results of objects, and of what contains them
		approved            bool   // whether all is pruned in the end
	}{
		"OneWave":         {wantInner: pruned, wantThem: pruned},
		"ALaterWave":      {outer: []string{waveAnnotation, "5"}, wantInner: pruned, wantThem: pruned},
		"InnerPrunedLast": {inner: []string{optionsAnnotation, "PruneLast=true"}, wantInner: pruned, wantThem: pruned},
		"InnerStays":      {inner: []string{optionsAnnotation, "Prune=false"}, wantInner: kept, wantThem: keptFor},
		"OnlyRecordedAndKeptByHelm": {
			inner: []string{"helm.sh/resource-policy", "keep"}, unknown: []string{"ConfigMap", "Widget", "Namespace", "CustomResourceDefinition"}, wantInner: kept, wantThem: keptFor,
		},
		"OnlyRecorded": {
			inner: []string{optionsAnnotation, "Prune=false"}, unknown: []string{"ConfigMap", "Widget", "Namespace", "CustomResourceDefinition"}, wantInner: kept, wantThem: keptFor,
		},
		// The operation is not about what is in a namespace, so there are no results about that.
		"InnerIsFilteredOut":             {options: []sync.SyncOpt{namespaceOnly}, wantThem: keptFor},
		"InnerIsFilteredOutAndRecorded":  {unknown: []string{"ConfigMap", "Widget"}, options: []sync.SyncOpt{namespaceOnly}, wantThem: keptFor},
		"InnerIsASkippedHook":            {inner: []string{hookAnnotation, "Sync"}, options: []sync.SyncOpt{sync.WithSkipHooks(true)}, wantThem: keptFor},
		"InnerIsADeclaredAndSkippedHook": {inner: []string{hookAnnotation, "Sync"}, unknown: []string{"ConfigMap", "Widget"}, declared: []string{"ConfigMap", "Widget"}, options: []sync.SyncOpt{sync.WithSkipHooks(true)}, wantThem: keptFor},
		"InnerBelongsToOthers": {
			innerLabel: "somebody", wantInner: "PruneSkipped Succeeded: belongs to another owner", wantThem: strings.Replace(keptFor, "stays", "belongs to another owner", 1),
		},
		"InnerAwaitsApproval": {
			inner: []string{optionsAnnotation, "Prune=confirm"}, wantThem: strings.Replace(keptFor, "stays", "awaits approval", 1), approved: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			group, inner := w.namespace+".example.com", testenv.UniqueName(t)
			named := strings.NewReplacer("GROUP", group, "INNER", inner, "OUTER", annotated(tc.outer))
			namespace := named.Replace("\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: INNER, annotations: {OUTER}}\n")
			w.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(w.Context()), testenv.Object(w, namespace)) })
			manifests := strings.Replace(w.widgets("Namespaced", "size: {type: integer}"), "metadata: {", "metadata: {annotations: {"+annotated(tc.outer)+"}, ", 1) + namespace +
				strings.Replace(configMap("a", tc.inner...), "name: a", "name: a, namespace: "+inner, 1) +
				named.Replace("\n---\napiVersion: GROUP/v1\nkind: Widget\nmetadata: {name: one, namespace: INNER, annotations: {"+annotated(tc.inner)+"}}\n")
			stored := &record{}
			w.succeeds(w.begin("one", manifests, sync.WithStore(stored)))
			objects, live := w.targets(manifests), map[sync.ResourceKey]*unstructured.Unstructured{}
			var declared []*unstructured.Unstructured
			for _, object := range objects {
				if slices.Contains(tc.declared, object.GetKind()) {
					declared = append(declared, object.DeepCopy())
				}
				if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
				if tc.innerLabel != "" && object.GetNamespace() != "" {
					object.SetLabels(map[string]string{sync.Name + "/owner-id": tc.innerLabel})
					if err := w.client.Update(t.Context(), object); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.Contains(tc.unknown, object.GetKind()) {
					live[sync.GetResourceKey(object)] = object
				}
			}
			options, background := append(tc.options, sync.WithPrune(true)), metav1.DeletePropagationBackground
			if tc.unknown != nil && tc.declared == nil {
				options = append(options, sync.WithInventory(stored.inventory))
			}
			begin := func(more ...sync.SyncOpt) sync.SyncContext {
				operation, done, err := sync.NewSyncContext("two", sync.Reconcile(declared, live, w.namespace, sync.NewResourceInfoProvider(w.client.RESTMapper())), w.config, w.namespace,
					slices.Concat(options, []sync.SyncOpt{sync.WithPrunePropagationPolicy(&background)}, more)...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(done)
				return operation
			}
			expected := func(ofInner, ofThem string) (want []string) {
				for object, text := range map[string]string{
					"ConfigMap a": ofInner, "Widget one": ofInner,
					"CustomResourceDefinition widgets.GROUP": strings.Replace(ofThem, "OBJECT", "Widget.GROUP INNER/one", 1), "Namespace INNER": strings.Replace(ofThem, "OBJECT", "ConfigMap INNER/a", 1),
				} {
					if text != "" {
						want = append(want, named.Replace("Sync "+object+": "+text))
					}
				}
				return sorted(want)
			}
			if !tc.approved {
				w.expect(expected(tc.wantInner, tc.wantThem), sorted(w.succeeds(begin())))
			} else {
				start := startedAt()
				operation := begin(sync.WithInitialState("", "", nil, start))
				w.until(operation, func(_ sync.OperationPhase, message string, _ []string) bool {
					return strings.Contains(message, "approval to prune")
				})
				phase, message, results := operation.GetState()
				w.expect(expected(tc.wantInner, tc.wantThem), sorted(textsOf(results)))
				w.expect(expected(pruned, pruned), sorted(w.succeeds(begin(sync.WithInitialState(phase, message, results, start), sync.WithPruneConfirmed(true)))))
			}
			for _, object := range objects {
				uid := object.GetUID()
				err := w.client.Get(t.Context(), client.ObjectKeyFromObject(object), object)
				if goes := tc.approved || tc.wantThem == pruned; goes && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) || !goes && (err != nil || object.GetUID() != uid || object.GetDeletionTimestamp() != nil) {
					t.Errorf("%s %s: gone or being deleted: %v, %v; want %v", object.GetKind(), object.GetName(), err, object.GetDeletionTimestamp(), goes)
				}
			}
		})
	}
}
