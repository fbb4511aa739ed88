// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

var installOnce sync.Once

// definitionFiles are the definitions of the test's components: those that are generated now, and those of former
// versions.
func definitionFiles(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/crds/*.yaml")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no definitions: %v", err)
	}
	return append(files, "testdata/former.yaml")
}

// install brings the definitions of the test's components into the cluster.
func install(tb testing.TB) {
	tb.Helper()
	installOnce.Do(func() {
		var definitions []*unstructured.Unstructured
		for _, file := range definitionFiles(tb) {
			raw, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			definitions = append(definitions, testenv.Objects(tb, string(raw))...)
		}
		c := testenv.Client(tb)
		for _, crd := range definitions {
			if err := c.Create(tb.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
				tb.Fatal(err)
			}
			testenv.Eventually(tb, func() (bool, string) {
				if err := c.Get(tb.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
					return false, err.Error()
				}
				conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
				for _, condition := range conditions {
					if fields, ok := condition.(map[string]any); ok && fields["type"] == "Established" && fields["status"] == "True" {
						return true, ""
					}
				}
				return false, crd.GetName() + " is not established"
			})
		}
	})
}

// rig is a namespace with an operator in it.
type rig struct {
	tb        testing.TB
	client    client.Client
	namespace string
	// name of the reconciler.
	name string
	// config is that of the operator's manager.
	config   *rest.Config
	requests *testenv.Requests
}

// newRig prepares a namespace; operators are started by start.
func newRig(tb testing.TB) *rig {
	tb.Helper()
	install(tb)
	cfg, requests := testenv.CountingConfig(tb)
	clnt, err := client.New(testenv.Config(tb), client.Options{Scheme: testScheme(tb)})
	if err != nil {
		tb.Fatal(err)
	}
	r := &rig{tb: tb, client: clnt, namespace: testenv.Namespace(tb), name: testenv.UniqueName(tb) + ".example.io", config: cfg, requests: requests}
	tb.Cleanup(r.release)
	return r
}

// release takes the finalizers off what the test leaves behind. Its operator has ended, so no other client does; and
// the namespace controller would look at the namespace again and again while other tests run.
func (r *rig) release() {
	ctx := context.WithoutCancel(r.tb.Context())
	for _, kind := range []schema.GroupVersionKind{
		{Group: "component-test.example.io", Version: "v1", Kind: "Widget"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"},
	} {
		left := &metav1.PartialObjectMetadataList{}
		left.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := r.client.List(ctx, left, client.InNamespace(r.namespace)); err != nil {
			r.tb.Errorf("looking for what the test has left: %v", err)
		}
		for i := range left.Items {
			object := &left.Items[i]
			if len(object.Finalizers) == 0 {
				continue
			}
			object.SetGroupVersionKind(kind)
			patch := client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			if err := r.client.Patch(ctx, object, patch); client.IgnoreNotFound(err) != nil {
				r.tb.Errorf("releasing what the test has left: %v", err)
			}
		}
	}
}

// manager returns a manager that sees the namespace only.
func (r *rig) manager(change func(*ctrl.Options)) ctrl.Manager {
	r.tb.Helper()
	options := ctrl.Options{
		Scheme:     testScheme(r.tb),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{r.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	}
	if change != nil {
		change(&options)
	}
	mgr, err := ctrl.NewManager(r.config, options)
	if err != nil {
		r.tb.Fatal(err)
	}
	return mgr
}

// run starts the manager and returns a function that stops it and waits for its end.
func (r *rig) run(mgr ctrl.Manager) (stop func()) {
	r.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := mgr.Start(ctx); err != nil {
			r.tb.Errorf("running the manager: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	r.tb.Cleanup(stop)
	return stop
}

// start runs an operator for widgets and returns a function that stops it.
func (r *rig) start(reconciler *Reconciler[*Widget]) (stop func()) {
	r.tb.Helper()
	mgr := r.manager(nil)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		r.tb.Fatal(err)
	}
	return r.run(mgr)
}

// reconciler makes the objects of the spec the dependents.
func (r *rig) reconciler(options ReconcilerOptions) *Reconciler[*Widget] {
	return NewReconciler[*Widget](r.name, manifests.GeneratorFunc(specObjects), options)
}

// specObjects is a generator that returns the objects of the spec.
func specObjects(ctx context.Context, _ string, _ string, parameters types.Unstructurable) ([]client.Object, error) {
	var objects []client.Object
	items, _ := parameters.ToUnstructured()["objects"].([]any)
	for _, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("unexpected object %v", item)
		}
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, ctx.Err()
}

// pureSpecObjects is specObjects as a pure generator which counts its calls.
type pureSpecObjects struct {
	mu    sync.Mutex
	calls int
}

func (g *pureSpecObjects) Fingerprint() string { return "spec objects" }

func (g *pureSpecObjects) Generate(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	g.mu.Lock()
	g.calls++
	g.mu.Unlock()
	return specObjects(ctx, namespace, name, parameters)
}

func (g *pureSpecObjects) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

// widget returns a widget with the given objects in it, as YAML.
func (r *rig) widget(objects string) *Widget {
	r.tb.Helper()
	widget := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "demo"}}
	widget.Spec.Objects = r.objects(objects)
	return widget
}

func (r *rig) objects(documents string) []runtime.RawExtension {
	r.tb.Helper()
	var result []runtime.RawExtension
	for _, object := range testenv.Objects(r.tb, documents) {
		raw, err := json.Marshal(object)
		if err != nil {
			r.tb.Fatal(err)
		}
		result = append(result, runtime.RawExtension{Raw: raw})
	}
	return result
}

func (r *rig) create(object client.Object) {
	r.tb.Helper()
	if err := r.client.Create(r.tb.Context(), object); err != nil {
		r.tb.Fatal(err)
	}
}

func (r *rig) delete(object client.Object) {
	r.tb.Helper()
	if err := r.client.Delete(r.tb.Context(), object); err != nil {
		r.tb.Fatal(err)
	}
}

// change updates an object, and retries after conflicts.
func change[T client.Object](r *rig, object T, mutate func(T)) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			r.tb.Fatal(err)
		}
		mutate(object)
		err := r.client.Update(r.tb.Context(), object)
		if err != nil && !apierrors.IsConflict(err) {
			r.tb.Fatal(err)
		}
		return err == nil, "conflict"
	})
}

// await waits until the component, as it was read, satisfies the condition.
func await[T Component](r *rig, component T, what string, condition func() bool) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(component), component); err != nil {
			return false, err.Error()
		}
		state, reason, message := component.GetStatus().GetState()
		return condition(), fmt.Sprintf("want %s, have %s/%s: %s", what, state, reason, message)
	})
}

func awaitReady[T Component](r *rig, component T) {
	r.tb.Helper()
	await(r, component, "readiness of the present generation", func() bool {
		return component.GetStatus().IsReady() && component.GetStatus().ObservedGeneration == component.GetGeneration()
	})
}

func awaitState[T Component](r *rig, component T, state State, reason string) {
	r.tb.Helper()
	await(r, component, string(state)+"/"+reason, func() bool {
		gotState, gotReason, _ := component.GetStatus().GetState()
		return gotState == state && gotReason == reason
	})
}

// reconcile makes a pass of its own for the component.
func (r *rig) reconcile(own reconcile.Reconciler, component Component) (result reconcile.Result, err error) {
	r.tb.Helper()
	return own.Reconcile(r.tb.Context(), request(component.GetNamespace(), component.GetName()))
}

func (r *rig) awaitGone(object client.Object) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), fmt.Sprintf("%T %s still exists (%v)", object, object.GetName(), object.GetFinalizers())
	})
}

// configMap returns the data of a ConfigMap, or nil if it does not exist.
func (r *rig) configMap(name string) map[string]string {
	r.tb.Helper()
	found := &corev1.ConfigMap{}
	err := r.client.Get(r.tb.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.tb.Fatal(err)
	}
	if found.Data == nil {
		return map[string]string{}
	}
	return found.Data
}

// log shows what operators log, if asked to.
func init() {
	if os.Getenv("TEST_LOG") != "" {
		ctrl.SetLogger(funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{LogTimestamp: true}))
	} else {
		ctrl.SetLogger(logr.Discard())
	}
}

func diff(tb testing.TB, what string, want, got any) {
	tb.Helper()
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("%s (-want +got):\n%s", what, d)
	}
}
