// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/types"
)

// inOrder has the objects of an installation, in the phases in which they have to be applied. Where there are no
// phases, hooks have annotations of Helm or Argo CD.
var inOrder = []struct {
	phase, helm, argo string
	objects           []string
}{
	{"scripts", "pre-install,-5", "PreSync,-5", []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: scripts}, data: {run: "true"}}`}},
	{"migrate", "pre-install,0", "PreSync,0", []string{`{apiVersion: batch/v1, kind: Job, metadata: {name: migrate}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: run, image: migrate}]}}}}`}},
	{"app", "", "", []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {colour: blue}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`,
	}},
	{"announce", "post-install,0", "PostSync,0", []string{`{apiVersion: batch/v1, kind: Job, metadata: {name: announce}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: run, image: announce}]}}}}`}},
}

// hooked returns an object, with annotations that make it a hook if it is one.
func hooked(t *testing.T, document, hook string, keys ...string) *unstructured.Unstructured {
	t.Helper()
	object := testenv.Object(t, document)
	if value, order, isHook := strings.Cut(hook, ","); isHook {
		object.SetAnnotations(map[string]string{keys[0]: value, keys[1]: order})
	}
	return object
}

// TestChartWithHooks: a chart with hooks, manifests with hooks of Argo CD or Helm, and a set with the same objects in
// phases, end in the same objects, which are created in the same order.
func TestChartWithHooks(t *testing.T) {
	t.Parallel()
	chart := fstest.MapFS{"Chart.yaml": {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")}}
	phases := map[string]int{}
	var ofArgo, ofHelm []client.Object
	spec := v1alpha1.SetSpec{}
	for i, phase := range inOrder {
		declared := v1alpha1.Phase{Name: phase.phase}
		for _, document := range phase.objects {
			object := testenv.Object(t, document)
			phases[object.GetKind()+" "+object.GetName()] = i
			declared.Objects = append(declared.Objects, v1alpha1.Object{Object: runtime.RawExtension{Raw: mustMarshal(t, object)}})
			ofArgo = append(ofArgo, hooked(t, document, phase.argo, "argocd.argoproj.io/hook", "argocd.argoproj.io/sync-wave"))
			object = hooked(t, document, phase.helm, "helm.sh/hook", "helm.sh/hook-weight")
			ofHelm = append(ofHelm, object)
			raw, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			chart[fmt.Sprintf("templates/%s-%s.yaml", strings.ToLower(object.GetKind()), object.GetName())] = &fstest.MapFile{Data: raw}
		}
		spec.Phases = append(spec.Phases, declared)
	}
	if err := yaml.Unmarshal([]byte(`
- selector: {kind: {group: apps, kind: Deployment}}
  probes: [{condition: {type: Available}}]
- selector: {kind: {group: batch, kind: Job}}
  probes: [{condition: {type: Complete}}]
`), &spec.AvailabilityProbes); err != nil {
		t.Fatal(err)
	}

	for name, start := range map[string]func(r *rig){
		"phases": func(r *rig) { r.start() },
		"a chart": func(r *rig) {
			generator, err := helm.New(chart, ".", helm.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.generate(generator)
		},
		"manifests for Argo CD": func(r *rig) { r.generate(withHooks(t, ofArgo, manifests.HookToolArgoCD)) },
		"manifests of a chart":  func(r *rig) { r.generate(withHooks(t, ofHelm, manifests.HookToolHelm)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			start(r)
			set := &v1alpha1.ObjectSet{Spec: v1alpha1.ObjectSetSpec{SetSpec: *spec.DeepCopy()}}
			set.Namespace, set.Name = r.namespace, "shop"
			r.create(set)
			testenv.Eventually(t, func() (bool, string) {
				r.read(set)
				return set.Status.IsReady(), describe(set)
			})
			if got := fmt.Sprint(r.created(phases)); got != "[0 1 2 2 2 3]" {
				t.Errorf("the phases are created in the order %s", got)
			}
			for _, phase := range inOrder {
				for _, document := range phase.objects {
					want := testenv.Object(t, document)
					if got := r.get(want.GetAPIVersion(), want.GetKind(), want.GetName()); got == nil || !contains(got.Object, want.Object) {
						t.Errorf("got %v, want %v", got, want)
					}
				}
			}
			if names := r.names(); !slices.Equal(names, slices.Sorted(maps.Keys(phases))) {
				t.Errorf("there are %v, want %v", names, phases)
			}
		})
	}
}

// generate runs an operator that makes the objects of a set by a generator, instead of from its phases.
func (r *rig) generate(generator generator.Generator) {
	r.run(r.config, func(mgr ctrl.Manager) error {
		return component.NewReconciler[*v1alpha1.ObjectSet](r.name+".generated.example.io", generator, component.ReconcilerOptions{}).SetupWithManager(mgr)
	})
}

// withHooks returns a generator of objects, whose hooks are those of a tool.
func withHooks(t *testing.T, objects []client.Object, tool manifests.HookTool) generator.Generator {
	t.Helper()
	transformer, err := manifests.NewHookTransformer(tool)
	if err != nil {
		t.Fatal(err)
	}
	return manifests.NewGenerator(manifests.GeneratorFunc(func(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
		return objects, nil
	})).WithObjectTransformer(transformer)
}

// created returns the phases of the objects that the operator has created, in the order of their creation.
func (r *rig) created(phases map[string]int) []string {
	kinds := map[string]string{"configmaps": "ConfigMap", "jobs": "Job", "services": "Service", "deployments": "Deployment"}
	var order []string
	for _, request := range r.requests.All() {
		if request.Status == http.StatusCreated && kinds[request.Resource] != "" {
			order = append(order, fmt.Sprint(phases[kinds[request.Resource]+" "+request.Name]))
		}
	}
	return order
}

// names returns the kinds and names of the objects in the namespace, without those that Kubernetes makes.
func (r *rig) names() []string {
	r.tb.Helper()
	var found []string
	for _, kind := range []string{"v1/ConfigMap", "v1/Service", "apps/v1/Deployment", "batch/v1/Job"} {
		list := &unstructured.UnstructuredList{}
		i := strings.LastIndex(kind, "/")
		list.SetAPIVersion(kind[:i])
		list.SetKind(kind[i+1:] + "List")
		if err := r.client.List(r.tb.Context(), list, client.InNamespace(r.namespace)); err != nil {
			r.tb.Fatal(err)
		}
		for _, item := range list.Items {
			if item.GetName() != "kube-root-ca.crt" {
				found = append(found, item.GetKind()+" "+item.GetName())
			}
		}
	}
	slices.Sort(found)
	return found
}

// contains reports whether a value has all fields of another.
func contains(value, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		fields, ok := value.(map[string]any)
		for key, want := range part {
			if !ok || !contains(fields[key], want) {
				return false
			}
		}
		return ok
	case []any:
		items, ok := value.([]any)
		return ok && slices.EqualFunc(items, part, contains)
	default:
		return fmt.Sprint(value) == fmt.Sprint(part)
	}
}
