// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"fmt"
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
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// inOrder has the objects of an installation, in the phases in which they have to be applied. Those of the chart have the hook in addition.
var inOrder = []struct {
	phase, hook string
	objects     []string
}{
	{"scripts", "pre-install,-5", []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: scripts}, data: {run: "true"}}`}},
	{"migrate", "pre-install,0", []string{`{apiVersion: batch/v1, kind: Job, metadata: {name: migrate}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: run, image: migrate}]}}}}`}},
	{"app", "", []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {colour: blue}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`,
	}},
	{"announce", "post-install,0", []string{`{apiVersion: batch/v1, kind: Job, metadata: {name: announce}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: run, image: announce}]}}}}`}},
}

// TestChartWithHooks: a chart with hooks, and a set with the same objects in phases, end in the same objects, which are created in the same order.
func TestChartWithHooks(t *testing.T) {
	t.Parallel()
	chart := fstest.MapFS{"Chart.yaml": {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")}}
	phases := map[string]int{}
	spec := v1alpha1.SetSpec{}
	for i, phase := range inOrder {
		declared := v1alpha1.Phase{Name: phase.phase}
		for _, document := range phase.objects {
			object := testenv.Object(t, document)
			phases[object.GetKind()+" "+object.GetName()] = i
			declared.Objects = append(declared.Objects, v1alpha1.Object{Object: runtime.RawExtension{Raw: mustMarshal(t, object)}})
			if hook, weight, isHook := strings.Cut(phase.hook, ","); isHook {
				object.SetAnnotations(map[string]string{"helm.sh/hook": hook, "helm.sh/hook-weight": weight})
			}
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

	install := func(setup func(*rig) (stop func())) (*rig, []string) {
		r := newRig(t)
		setup(r)
		set := &v1alpha1.ObjectSet{Spec: v1alpha1.ObjectSetSpec{SetSpec: spec}}
		set.Namespace, set.Name = r.namespace, "shop"
		r.create(set)
		testenv.Eventually(t, func() (bool, string) {
			r.read(set)
			return set.Status.IsReady(), describe(set)
		})
		return r, r.created(phases)
	}
	ofSet, setOrder := install((*rig).start)
	ofChart, chartOrder := install(func(r *rig) func() {
		generator, err := helm.NewHelmGeneratorWithOptions(chart, ".", helm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.run(r.config, func(mgr ctrl.Manager) error {
			return component.NewReconciler[*v1alpha1.ObjectSet](r.name+".chart.example.io", generator, component.ReconcilerOptions{}).SetupWithManager(mgr)
		})
	})
	const want = "[0 1 2 2 2 3]"
	if got := fmt.Sprint(setOrder); got != want {
		t.Errorf("the phases of the set are created in the order %s", got)
	}
	if got := fmt.Sprint(chartOrder); got != want {
		t.Errorf("the phases of the chart are created in the order %s", got)
	}
	for _, phase := range inOrder {
		for _, document := range phase.objects {
			want := testenv.Object(t, document)
			for _, r := range []*rig{ofSet, ofChart} {
				got := r.get(want.GetAPIVersion(), want.GetKind(), want.GetName())
				if got == nil || !contains(got.Object, want.Object) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		}
	}
	if a, b := ofSet.names(), ofChart.names(); !slices.Equal(a, b) || len(a) != len(phases) {
		t.Errorf("the set has %v, the chart %v", a, b)
	}
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
