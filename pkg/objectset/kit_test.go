// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// labelRig has the rig that a ClusterObjectSet belongs to.
const labelRig = "objectset-test.example.io/rig"

var installOnce sync.Once

// install brings the definitions into the cluster.
func install(tb testing.TB) {
	tb.Helper()
	installOnce.Do(func() {
		c := testenv.Client(tb)
		files, err := fs.Glob(objectset.CRDs, "crds/*.yaml")
		if err != nil || len(files) != 4 {
			tb.Fatalf("unexpected definitions %v, %v", files, err)
		}
		for _, file := range files {
			raw, err := objectset.CRDs.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			definition := testenv.Object(tb, string(raw))
			if err := c.Patch(tb.Context(), definition, client.Apply, client.FieldOwner("objectset-test"), client.ForceOwnership); err != nil { //nolint:staticcheck // an unstructured object
				tb.Fatal(err)
			}
			testenv.Eventually(tb, func() (bool, string) {
				if err := c.Get(tb.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
					return false, err.Error()
				}
				return conditionOf(definition, "Established") == "True", definition.GetName() + " is not established"
			})
		}
	})
}

// conditionOf returns the status of a condition of an object.
func conditionOf(object *unstructured.Unstructured, name string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		if fields, ok := item.(map[string]any); ok && fields["type"] == name {
			return fmt.Sprint(fields["status"])
		}
	}
	return ""
}

// rig is a namespace with an operator for sets.
type rig struct {
	tb        testing.TB
	client    client.Client
	namespace string
	name      string
	config    *rest.Config
	requests  *testenv.Requests
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	install(tb)
	scheme := testenv.Scheme(tb)
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		tb.Fatal(err)
	}
	clnt, err := client.New(testenv.Config(tb), client.Options{Scheme: scheme})
	if err != nil {
		tb.Fatal(err)
	}
	r := &rig{tb: tb, client: clnt, namespace: testenv.Namespace(tb), name: shortName(tb)}
	r.config, r.requests = testenv.CountingConfig(tb)
	tb.Cleanup(r.clean)
	return r
}

// shortName returns a unique name that is short enough for the prefix of a finalizer.
func shortName(tb testing.TB) string {
	tb.Helper()
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(testenv.UniqueName(tb)))
	return fmt.Sprintf("t%08x", hash.Sum32())
}

// start runs an operator, and returns a function that stops it.
func (r *rig) start() (stop func()) {
	r.tb.Helper()
	return r.startWith(r.config)
}

// startWith runs an operator whose requests are made as configured.
func (r *rig) startWith(cfg *rest.Config) (stop func()) {
	r.tb.Helper()
	return r.run(cfg, func(mgr ctrl.Manager) error {
		return objectset.SetupWithManager(mgr, objectset.Options{Name: r.name, StateNamespace: r.namespace})
	})
}

// run runs a manager for sets.
func (r *rig) run(cfg *rest.Config, setup func(ctrl.Manager) error) (stop func()) {
	r.tb.Helper()
	ours := labels.SelectorFromSet(labels.Set{labelRig: r.name})
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  r.client.Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{r.namespace: {}},
			ByObject:          map[client.Object]cache.ByObject{&v1alpha1.ClusterObjectSet{}: {Label: ours}, &v1alpha1.ClusterObjectDeployment{}: {Label: ours}},
		},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	if err := setup(mgr); err != nil {
		r.tb.Fatal(err)
	}
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

// clean takes the finalizers off what the test leaves behind.
func (r *rig) clean() {
	ctx := context.WithoutCancel(r.tb.Context())
	sets, clusterSets := &v1alpha1.ObjectSetList{}, &v1alpha1.ClusterObjectSetList{}
	if err := r.client.List(ctx, sets, client.InNamespace(r.namespace)); err != nil {
		r.tb.Error(err)
	}
	if err := r.client.List(ctx, clusterSets, client.MatchingLabels{labelRig: r.name}); err != nil {
		r.tb.Error(err)
	}
	var left []client.Object
	deployments, clusterDeployments := &v1alpha1.ObjectDeploymentList{}, &v1alpha1.ClusterObjectDeploymentList{}
	if err := r.client.List(ctx, deployments, client.InNamespace(r.namespace)); err != nil {
		r.tb.Error(err)
	}
	if err := r.client.List(ctx, clusterDeployments, client.MatchingLabels{labelRig: r.name}); err != nil {
		r.tb.Error(err)
	}
	for i := range deployments.Items {
		left = append(left, &deployments.Items[i])
	}
	for i := range clusterDeployments.Items {
		left = append(left, &clusterDeployments.Items[i])
	}
	for i := range sets.Items {
		left = append(left, &sets.Items[i])
	}
	for i := range clusterSets.Items {
		left = append(left, &clusterSets.Items[i])
	}
	for _, set := range left {
		patch := client.MergeFrom(set.DeepCopyObject().(client.Object)) //nolint:forcetypeassert // a copy has the same type
		set.SetFinalizers(nil)
		if err := errorsOf(r.client.Patch(ctx, set, patch), r.client.Delete(ctx, set)); err != nil {
			r.tb.Errorf("cleaning up: %v", err)
		}
	}
}

// errorsOf returns the first error other than that something is gone.
func errorsOf(errs ...error) error {
	for _, err := range errs {
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// set returns the ObjectSet of a document, in which NS is the namespace.
func (r *rig) set(document string) *v1alpha1.ObjectSet {
	r.tb.Helper()
	set := &v1alpha1.ObjectSet{}
	r.decode(document, set)
	set.Namespace = r.namespace
	return set
}

func (r *rig) decode(document string, into any) {
	r.tb.Helper()
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(document, "NS", r.namespace)), into); err != nil {
		r.tb.Fatal(err)
	}
}

func newUnstructured(tb testing.TB, document string) *unstructured.Unstructured {
	tb.Helper()
	return testenv.Object(tb, document)
}

func (r *rig) create(object client.Object) {
	r.tb.Helper()
	if err := r.client.Create(r.tb.Context(), object); err != nil {
		r.tb.Fatal(err)
	}
}

// read reads an object.
func (r *rig) read(object client.Object) {
	r.tb.Helper()
	if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		r.tb.Fatal(err)
	}
}

func (r *rig) delete(object client.Object) {
	r.tb.Helper()
	if err := r.client.Delete(r.tb.Context(), object); err != nil {
		r.tb.Fatal(err)
	}
}

// patch changes an object.
func (r *rig) patch(object client.Object, patch string) {
	r.tb.Helper()
	if err := r.client.Patch(r.tb.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		r.tb.Fatal(err)
	}
}

// get returns an object of the namespace; nil if it does not exist.
func (r *rig) get(apiVersion, kind, name string) *unstructured.Unstructured {
	r.tb.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	err := r.client.Get(r.tb.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		r.tb.Fatal(err)
	}
	return object
}

// await waits until the status of a set is as wanted.
func (r *rig) await(set v1alpha1.Set, wanted func(status *v1alpha1.SetStatus) string) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			return false, err.Error()
		}
		lacks := wanted(set.GetSetStatus())
		if lacks == "" && set.GetStatus().ObservedGeneration != set.GetGeneration() {
			lacks = "the generation is not observed"
		}
		return lacks == "", lacks + ": " + describe(set)
	})
}

// awaitCondition waits until a condition of a set has a status and reason, and its message the texts.
func (r *rig) awaitCondition(set v1alpha1.Set, name component.ConditionType, want string, texts ...string) {
	r.tb.Helper()
	r.await(set, func(status *v1alpha1.SetStatus) string {
		condition, _ := status.GetCondition(name)
		if got := string(condition.Status) + "/" + condition.Reason; got != want {
			return fmt.Sprintf("%s is %s, not %s", name, got, want)
		}
		for _, text := range texts {
			if text = strings.ReplaceAll(text, "NS", r.namespace); !strings.Contains(condition.Message, text) {
				return fmt.Sprintf("the message of %s lacks %q", name, text)
			}
		}
		return ""
	})
}

// awaitGone waits until an object is gone.
func (r *rig) awaitGone(object client.Object) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(object), object)
		if set, ok := object.(v1alpha1.Set); ok && err == nil {
			return false, describe(set)
		}
		return apierrors.IsNotFound(err), object.GetName() + " still exists"
	})
}

// describe returns what the status of a set says.
func describe(set v1alpha1.Set) string {
	var lines []string
	for _, condition := range set.GetStatus().Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s/%s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return strings.Join(append(lines, phasesOf(set)...), "\n")
}

// phasesOf returns the phases of the status in short: name, objects, applied, available, progressed.
func phasesOf(set v1alpha1.Set) []string {
	var lines []string
	for _, phase := range set.GetSetStatus().Phases {
		lines = append(lines, fmt.Sprintf("%s %d %d %d %d", phase.Name, phase.Objects, phase.Applied, phase.Available, phase.Progressed))
	}
	return lines
}

// replace replaces pairs of texts.
func replace(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

// expectPhases compares the phases of the status.
func (r *rig) expectPhases(set v1alpha1.Set, want ...string) {
	r.tb.Helper()
	if got := phasesOf(set); strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.tb.Errorf("got phases %q, want %q", got, want)
	}
}

// quiesce waits until the operator has made no request for a second, and waits for no response.
func (r *rig) quiesce() {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		before := r.requests.Len()
		time.Sleep(time.Second)
		return r.requests.UnderWay() == 0 && r.requests.Len() == before, "requests are made"
	})
}

// eventually waits until something is true.
func (r *rig) eventually(what string, holds func() bool) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) { return holds(), "not so: " + what })
}
