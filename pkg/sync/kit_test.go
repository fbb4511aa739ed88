// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sync"
)

const (
	hookAnnotation    = "argocd.argoproj.io/hook"
	policyAnnotation  = "argocd.argoproj.io/hook-delete-policy"
	waveAnnotation    = "argocd.argoproj.io/sync-wave"
	optionsAnnotation = "argocd.argoproj.io/sync-options"
	trackingLabel     = "example.com/app"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// world is an application in a namespace of its own, as a caller of the package has one.
type world struct {
	testing.TB
	namespace string
	config    *rest.Config
	client    client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{TB: t, namespace: testenv.Namespace(t), config: testenv.Config(t), client: testenv.Client(t)}
}

// annotated returns the annotations of a manifest, from keys and values.
func annotated(annotations []string) string {
	var texts []string
	for i := 0; i+1 < len(annotations); i += 2 {
		texts = append(texts, fmt.Sprintf("%s: %q", annotations[i], annotations[i+1]))
	}
	return strings.Join(texts, ", ")
}

func configMap(name string, annotations ...string) string {
	return fmt.Sprintf("\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {%s}}\ndata: {k: v}\n", name, annotated(annotations))
}

// job returns a Job that succeeds.
func job(name string, annotations ...string) string {
	return fmt.Sprintf(`
---
apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {%s}}
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: example.com/none}]}
`, name, annotated(annotations))
}

// failingJobs makes the pods of Jobs fail; unending makes them run for ever.
func failingJobs(jobs string) string { return withPods(jobs, "fail") }

func unending(jobs string) string { return withPods(jobs, "never-ready") }

func withPods(jobs, annotation string) string {
	return strings.ReplaceAll(jobs, "template:\n", "template:\n    metadata: {annotations: {sandbox.component-operator.io/"+annotation+": \"true\"}}\n")
}

// targets parses manifests, and labels the objects as those of the application.
func (w *world) targets(manifests string) []*unstructured.Unstructured {
	w.Helper()
	objects := testenv.Objects(w, manifests)
	for _, object := range objects {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[trackingLabel] = w.namespace
		object.SetLabels(labels)
	}
	return objects
}

// trackedKinds are the kinds of the objects in tests.
var trackedKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "Pod"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
}

// live returns the objects of the application that exist.
func (w *world) live() map[sync.ResourceKey]*unstructured.Unstructured {
	w.Helper()
	found := map[sync.ResourceKey]*unstructured.Unstructured{}
	for _, kind := range trackedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.client.List(w.Context(), list, client.InNamespace(w.namespace), client.MatchingLabels{trackingLabel: w.namespace}); err != nil {
			w.Fatal(err)
		}
		for i := range list.Items {
			found[sync.GetResourceKey(&list.Items[i])] = &list.Items[i]
		}
	}
	return found
}

// exists lists the objects of the application that exist, without those that are being deleted.
func (w *world) exists() []string {
	w.Helper()
	var names []string
	for key, object := range w.live() {
		if object.GetDeletionTimestamp() == nil {
			names = append(names, key.Kind+" "+key.Name)
		}
	}
	slices.Sort(names)
	return names
}

// begin returns an operation that brings the application to the manifests.
func (w *world) begin(revision, manifests string, options ...sync.SyncOpt) sync.SyncContext {
	w.Helper()
	return w.beginWith(w.config, revision, manifests, options...)
}

func (w *world) beginWith(config *rest.Config, revision, manifests string, options ...sync.SyncOpt) sync.SyncContext {
	w.Helper()
	result := sync.Reconcile(w.targets(manifests), w.live(), w.namespace, sync.NewResourceInfoProvider(w.client.RESTMapper()))
	operation, done, err := sync.NewSyncContext(revision, result, config, w.namespace, options...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(done)
	return operation
}

// end makes steps until the operation has completed, and returns its phase, its message, and the results as texts.
func (w *world) end(operation sync.SyncContext) (sync.OperationPhase, string, []string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), testenv.Patience())
	defer cancel()
	for {
		operation.Sync(ctx)
		phase, message, results := operation.GetState()
		if phase.Completed() {
			return phase, message, textsOf(results)
		}
		if err := operation.Wait(ctx); err != nil {
			w.Fatalf("%s: %s; %s", err, message, strings.Join(textsOf(results), "\n"))
		}
	}
}

// until makes steps until the state is as wanted.
func (w *world) until(operation sync.SyncContext, wanted func(phase sync.OperationPhase, message string, results []string) bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), testenv.Patience())
	defer cancel()
	for {
		operation.Sync(ctx)
		phase, message, results := operation.GetState()
		if wanted(phase, message, textsOf(results)) {
			return
		}
		if phase.Completed() {
			w.Fatalf("the operation ended: %s, %s", phase, message)
		}
		if err := operation.Wait(ctx); err != nil {
			w.Fatalf("%s: %s; %s", err, message, strings.Join(textsOf(results), "\n"))
		}
	}
}

// textsOf returns results as texts, in their order.
func textsOf(results []sync.ResourceSyncResult) []string {
	texts := make([]string, len(results))
	for i, result := range results {
		if result.Order != i+1 {
			texts[i] = fmt.Sprintf("order %d: ", result.Order)
		}
		hook := ""
		if result.HookType != "" {
			hook = " hook"
			if string(result.HookType) != string(result.SyncPhase) {
				hook += " " + string(result.HookType)
			}
		}
		texts[i] += fmt.Sprintf("%s%s %s %s: %s %s: %s", result.SyncPhase, hook, result.ResourceKey.Kind, result.ResourceKey.Name, result.Status, result.HookPhase, result.Message)
	}
	return texts
}

// startedAt is a time for operations that several contexts share.
func startedAt() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// mayNot returns the configuration of a user who may do anything in the namespace but what a verb says.
func (w *world) mayNot(verb string) *rest.Config {
	w.Helper()
	user := "without-" + verb + "-" + w.namespace
	verbs := slices.DeleteFunc([]string{"get", "list", "watch", "create", "update", "patch", "delete"}, func(each string) bool { return each == verb })
	for _, document := range []string{
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: most}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: [" + strings.Join(verbs, ", ") + "]}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: most}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: most}, " +
			"subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: " + user + "}]}",
	} {
		object := testenv.Object(w, document)
		object.SetNamespace(w.namespace)
		if err := w.client.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config
}

// widgets returns the definition of a type of the test's own, in the group <namespace>.example.com, whose spec has the
// given properties. It is deleted when the test ends.
func (w *world) widgets(scope, properties string) string {
	w.Helper()
	group := w.namespace + ".example.com"
	definition := strings.NewReplacer("GROUP", group, "SCOPE", scope, "PROPERTIES", properties).Replace(`
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: SCOPE
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {PROPERTIES}}}}}}]
`)
	w.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(w.Context()), testenv.Object(w, definition)) })
	return definition
}

// limit lets the namespace have one object of a type, which a dry run does not show for each of two.
func (w *world) limit(resource string) {
	w.Helper()
	quota := testenv.Object(w, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: one, namespace: "+w.namespace+"}, spec: {hard: {count/"+resource+": \"1\"}}}")
	if err := w.client.Create(w.Context(), quota); err != nil {
		w.Fatal(err)
	}
	testenv.Eventually(w, func() (bool, string) {
		err := w.client.Get(w.Context(), client.ObjectKeyFromObject(quota), quota)
		_, found, _ := unstructured.NestedMap(quota.Object, "status", "hard")
		return err == nil && found, "the quota is not in force"
	})
}
