// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Site is a component whose spec has the values of the chart.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   map[string]any   `json:"spec,omitempty"`
	Status component.Status `json:"status,omitempty"`
}

func (s *Site) GetSpec() types.Unstructurable  { return types.UnstructurableMap(s.Spec) }
func (s *Site) GetStatus() *component.Status   { return &s.Status }
func (s *Site) DeepCopyObject() runtime.Object { return copied(s) }

// SiteList is a list of Sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}

func (l *SiteList) DeepCopyObject() runtime.Object { return copied(l) }

func copied[T any](in *T) *T {
	out := new(T)
	raw, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

const formerFinalizer = "helm.sdk.operatorframework.io/uninstall-release"

// define creates a definition as operator-sdk writes it, and a Site as its helm operator leaves it: with its finalizer,
// its status, and as the controller of the objects of the release, hooks included.
func (p *place) define(values map[string]any) *unstructured.Unstructured {
	p.Helper()
	group := testenv.UniqueName(p) + ".example.org"
	definition := testenv.Object(p, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.`+group+`}
spec:
  group: `+group+`
  scope: Namespaced
  names: {kind: Site, listKind: SiteList, plural: sites, singular: site}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`)
	p.must(p.client.Create(p.Context(), definition))
	p.Cleanup(func() { _ = p.client.Delete(context.WithoutCancel(p.Context()), definition) })
	site := testenv.Object(p, "{apiVersion: "+group+"/v1alpha1, kind: Site, metadata: {name: "+p.release+", finalizers: ["+formerFinalizer+"]}}")
	site.SetNamespace(p.namespace)
	p.must(unstructured.SetNestedMap(site.Object, values, "spec"))
	testenv.Eventually(p, func() (bool, string) {
		err := p.client.Create(p.Context(), site)
		return err == nil, fmt.Sprint(err)
	})
	p.must(unstructured.SetNestedField(site.Object, map[string]any{
		"conditions":      []any{map[string]any{"type": "Deployed", "status": "True", "reason": "UpdateSuccessful", "lastTransitionTime": "2024-01-01T00:00:00Z"}},
		"deployedRelease": map[string]any{"name": p.release, "manifest": "---"},
	}, "status"))
	p.must(p.client.Status().Update(p.Context(), site))
	reference := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"Site","name":%q,"uid":%q,"controller":true,"blockOwnerDeletion":true}]}}`,
		site.GetAPIVersion(), p.release, site.GetUID())
	objects := p.inheritable()
	for _, hook := range [][3]string{{"batch/v1", "Job", "upgrade"}, {"v1", "Secret", "password"}} {
		if object := p.get(hook[0], hook[1], hook[2]); object != nil {
			objects = append(objects, object)
		}
	}
	for _, object := range objects {
		p.must(p.client.Patch(p.Context(), object, client.RawPatch(apitypes.MergePatchType, []byte(reference))))
	}
	return site
}

// inheritable returns the objects of the release that have its marks.
func (p *place) inheritable() []client.Object {
	p.Helper()
	var objects []client.Object
	for _, key := range [][3]string{
		{"v1", "ConfigMap", "app"}, {"v1", "ConfigMap", "kept"}, {"v1", "Service", "web"}, {"apps/v1", "Deployment", "web"}, {"v1", "ConfigMap", "b"}, {"v1", "Service", "a"},
	} {
		if object := p.get(key[0], key[1], key[2]); object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// operate runs an operator around the chart, with the adoption policy never.
func (p *place) operate(site *unstructured.Unstructured, chart string) {
	p.Helper()
	generator, err := helm.New(nil, chart, helm.Options{})
	p.must(err)
	kind := site.GroupVersionKind()
	scheme := testenv.Scheme(p)
	scheme.AddKnownTypeWithName(kind, &Site{})
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind("SiteList"), &SiteList{})
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Group: kind.Group, Version: kind.Version})
	mgr, err := ctrl.NewManager(testenv.Config(p), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{p.namespace: {}}},
	})
	p.must(err)
	p.must(component.NewReconciler[*Site](kind.Group, generator, component.ReconcilerOptions{
		AdoptionPolicy: new(reconciler.AdoptionPolicyNever), Finalizer: new(kind.Group + "/finalizer"), FormerFinalizers: []string{formerFinalizer},
		Inherit: helm.InheritRelease,
	}).SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	p.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			p.Error(err)
		}
	})
}

// awaitSite waits until the status of the present generation of a Site has a state, and returns its message.
func (p *place) awaitSite(site *unstructured.Unstructured, state component.State) *Site {
	p.Helper()
	typed := &Site{}
	testenv.Eventually(p, func() (bool, string) {
		if err := p.client.Get(p.Context(), client.ObjectKeyFromObject(site), site); err != nil {
			return false, err.Error()
		}
		p.must(runtime.DefaultUnstructuredConverter.FromUnstructured(site.Object, typed))
		got, _, message := typed.Status.GetState()
		return got == state && (state != component.StateReady || typed.Status.ObservedGeneration == site.GetGeneration()), fmt.Sprintf("it is %s: %s", got, message)
	})
	return typed
}

// TestInherit has an operator take over what operator-sdk's helm operator has installed for a custom resource, while its
// own adoption policy is never: nothing is created again or rolled out, no hook runs, and no trace of Helm is left.
func TestInherit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tool, chart := helm3{}, p.chart("1.0.0", templates)
	p.must(tool.install(p, chart, values("red", 80), false))
	p.must(tool.upgrade(p, chart, values("blue", 80)))
	site := p.define(map[string]any{"color": "blue", "port": int64(80)})
	before, deployment := p.states(), p.get("apps/v1", "Deployment", "web")
	p.operate(site, chart)
	typed := p.awaitSite(site, component.StateReady)
	if diff := cmp.Diff([]any{int64(2), "1.0.0", []string{site.GroupVersionKind().Group + "/finalizer"}}, []any{typed.Status.Revision, typed.Status.Version, typed.Finalizers}); diff != "" {
		t.Errorf("revision, version, finalizers: %s", diff)
	}
	after := p.states()
	for name, state := range before {
		if strings.Fields(state)[0] != strings.Fields(after[name] + " ")[0] || strings.HasPrefix(name, "Job") && state != after[name] {
			t.Errorf("%s is another one: %s has become %s", name, state, after[name])
		}
	}
	if diff := cmp.Diff(deployment.Object["spec"], p.get("apps/v1", "Deployment", "web").Object["spec"]); diff != "" {
		t.Errorf("the Deployment was changed: %s", diff)
	}
	if sets := p.list(t.Context(), "apps/v1", "ReplicaSet"); after["Job setup"] != before["Job setup"] || len(sets) != 2 {
		t.Errorf("something was rolled out, or a hook has run: %v has become %v; %d ReplicaSets", before, after, len(sets))
	}
	for _, object := range p.inheritable() {
		p.expectNone(fmt.Sprint(object.GetAnnotations(), object.GetOwnerReferences()), "meta.helm.sh", string(site.GetUID()))
	}
	if records := p.records(); len(records) > 0 {
		t.Errorf("Helm's record was not deleted: %v", records)
	}

	upgrade := p.get("batch/v1", "Job", "upgrade").GetUID()
	p.must(p.client.Patch(t.Context(), site, client.RawPatch(apitypes.MergePatchType, []byte(`{"spec":{"color":"green"}}`))))
	if typed = p.awaitSite(site, component.StateReady); typed.Status.Revision != 3 || p.data("app")["color"] != "green" {
		t.Errorf("after a change, the revision is %d, and the data are %v", typed.Status.Revision, p.data("app"))
	}
	if p.get("batch/v1", "Job", "upgrade").GetUID() == upgrade || p.get("batch/v1", "Job", "setup") != nil || p.states()["Secret password"] != before["Secret password"] {
		t.Error("the hook of upgrades has not run, or one of installations has")
	}
	p.must(p.client.Delete(t.Context(), site))
	testenv.Eventually(t, func() (bool, string) { return p.get(site.GetAPIVersion(), "Site", p.release) == nil, "it still exists" })
	var left []string
	for object := range p.states() {
		left = append(left, object)
	}
	if !slices.Contains(left, "ConfigMap kept") || slices.Contains(left, "Deployment web") {
		t.Errorf("unexpected objects after the deletion: %v", left)
	}
}

// TestInheritedDeletion deletes a custom resource before its objects were taken over: the release has to be uninstalled
// first, so that nothing is left behind.
func TestInheritedDeletion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.chart("1.0.0", plain)
	p.must(helm3{}.install(p, chart, map[string]any{"color": "red"}, false))
	site := p.define(map[string]any{"color": "red"})
	p.must(p.client.Delete(t.Context(), site))
	p.operate(site, chart)
	_, _, message := p.awaitSite(site, component.StateDeletionPending).Status.GetState()
	p.expect(message, "evision 1 of Helm release "+p.namespace+"/web was not taken over before the deletion; to delete its objects, uninstall it")
	if p.data("b") == nil {
		t.Error("an object was deleted")
	}
	p.must(helm3{}.uninstall(p))
	testenv.Eventually(t, func() (bool, string) { return p.get(site.GetAPIVersion(), "Site", p.release) == nil, "it still exists" })
}
