// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

const reconcilerName = "shop.example.org"

// generate returns the objects of resources.
func generate(tb testing.TB, all ...resources.Resource) ([]client.Object, error) {
	tb.Helper()
	ctx := generating.ReconcilerName.With(tb.Context(), reconcilerName)
	g := resources.NewGenerator(func(context.Context, resources.Input) ([]resources.Resource, error) { return all, nil })
	return g.Generate(ctx, "shop", "main", types.UnstructurableMap{})
}

func configMap(name string) *configmap.Builder {
	return configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
}

func build(tb testing.TB, b *configmap.Builder) resources.Resource {
	tb.Helper()
	resource, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return resource
}

func into(data *concepts.Data[string]) concepts.Extraction[corev1.ConfigMap] {
	return concepts.Into(data, func(c corev1.ConfigMap) (string, bool, error) { return c.Data["value"], c.Data["value"] != "", nil })
}

func extractor(corev1.ConfigMap) error { return nil }

func guard(corev1.ConfigMap) (concepts.GuardStatusWithReason, error) {
	return concepts.GuardStatusWithReason{Status: concepts.GuardStatusUnblocked}, nil
}

// TestSteps: a step begins with what is guarded, with what may use data of the step before, and with what comes after
// an object of others that must exist.
func TestSteps(t *testing.T) {
	t.Parallel()
	a, b := concepts.NewData[string]("a"), concepts.NewData[string]("b")
	for _, tc := range []struct {
		reason string
		set    []*configmap.Builder
		want   []string // behaviors and step of each object
	}{
		{"no dependencies", []*configmap.Builder{configMap("0"), configMap("1")}, []string{"0", "0"}},
		{"a guard", []*configmap.Builder{configMap("0"), configMap("1").WithGuard(guard), configMap("2")}, []string{"0", "1 guarded", "1"}},
		{
			"data with a guard",
			[]*configmap.Builder{configMap("0").WithData(into(a)), configMap("1"), configMap("2").WithDataGuard(a), configMap("3").WithOptionalData(a)},
			[]string{"0 extracting", "0", "1 guarded late", "1 guarded late"},
		},
		{"optional data", []*configmap.Builder{configMap("0").WithData(into(a)), configMap("1").WithOptionalData(a)}, []string{"0 extracting", "1 guarded late"}},
		{
			"data of two steps",
			[]*configmap.Builder{configMap("0").WithData(into(a)), configMap("1").WithOptionalData(a).WithData(into(b)), configMap("2").WithOptionalData(a), configMap("3").WithOptionalData(b)},
			[]string{"0 extracting", "1 guarded extracting late", "1 guarded late", "2 guarded late"},
		},
		{
			"a function that extracts",
			[]*configmap.Builder{configMap("0").WithDataExtractor(extractor), configMap("1"), configMap("2")},
			[]string{"0 extracting", "1 late", "1 late"},
		},

		{
			"an object of others that must exist",
			[]*configmap.Builder{configMap("0"), configMap("other").ReadOnly(concepts.AbsenceBlocks).WithData(into(a)), configMap("1").WithDataGuard(a)},
			[]string{"0", "1 guarded late reading"},
		},
		{
			"an object of others that may be missing",
			[]*configmap.Builder{configMap("0"), configMap("other").ReadOnly(concepts.AbsenceIsFine).WithData(into(a)), configMap("1").WithOptionalData(a)},
			[]string{"0", "0 guarded late reading"},
		},
		{"an object of others at the end", []*configmap.Builder{configMap("0"), configMap("other").ReadOnly(concepts.AbsenceBlocks)}, []string{"0 reading"}},
		{"a gate that is off", []*configmap.Builder{configMap("0").WithData(into(a)).GatedBy(feature.NewBooleanGate(false)), configMap("1").WithOptionalData(a)}, []string{"0 late"}},
	} {
		var all []resources.Resource
		for _, b := range tc.set {
			all = append(all, build(t, b))
		}
		objects, err := generate(t, all...)
		if err != nil {
			t.Errorf("%s: %v", tc.reason, err)
			continue
		}
		var got []string
		for _, object := range objects {
			got = append(got, describe(object))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func describe(object client.Object) string {
	step := 0
	if stepped, ok := behaviors.Of[behaviors.Stepped](object); ok {
		step = stepped.Step()
	}
	text := fmt.Sprint(step)
	note := func(name string, has bool) {
		if has {
			text += " " + name
		}
	}
	_, guarded := behaviors.Of[behaviors.Guarded](object)
	note("guarded", guarded)
	_, extracting := behaviors.Of[behaviors.Extracting](object)
	note("extracting", extracting)
	_, late := behaviors.Of[behaviors.Late](object)
	note("late", late)
	_, reading := behaviors.Of[behaviors.Reading](object)
	note("reading", reading)
	return text
}

func TestRefusedSets(t *testing.T) {
	t.Parallel()
	a, other := concepts.NewData[string]("a"), concepts.NewData[string]("a")
	for _, tc := range []struct {
		reason string
		set    []resources.Resource
		want   string
	}{
		{"nil", []resources.Resource{nil}, "resource 0 is nil"},
		{"twice the same", []resources.Resource{build(t, configMap("0")), build(t, configMap("0"))}, "resource v1/ConfigMap/shop/0 is returned more than once"},
		{"data that nobody extracts", []resources.Resource{build(t, configMap("0").WithDataGuard(a))}, `resource v1/ConfigMap/shop/0 uses the data "a", which no resource extracts`},
		{"data of itself", []resources.Resource{build(t, configMap("0").WithData(into(a)).WithOptionalData(a))}, `resource v1/ConfigMap/shop/0 uses the data "a", which resource v1/ConfigMap/shop/0 extracts; that must be another one`},

		{
			"data of one that is applied in a later wave",
			[]resources.Resource{build(t, configMap("0").WithData(into(a)).WithApplyOrder(1)), build(t, configMap("1").WithDataGuard(a))},
			`resource v1/ConfigMap/shop/1 uses the data "a", which resource v1/ConfigMap/shop/0 extracts; that must be another one, which is returned earlier and has no later apply order`,
		},
		{
			"data of one that is off",
			[]resources.Resource{build(t, configMap("0").WithData(into(a)).GatedBy(feature.NewBooleanGate(false))), build(t, configMap("1").WithDataGuard(a))},
			`resource v1/ConfigMap/shop/1 uses the data "a", which resource v1/ConfigMap/shop/0 extracts, and that is off`,
		},
		{
			"two data with one name",
			[]resources.Resource{build(t, configMap("0").WithData(into(a))), build(t, configMap("1").WithData(into(other)))},
			`resource v1/ConfigMap/shop/1: the name "a" is used for different data`,
		},
		{"a gate that fails", []resources.Resource{build(t, configMap("0").GatedBy(brokenGate{}))}, "resource v1/ConfigMap/shop/0: cannot tell whether its feature is on: broken"},
		{
			"data that are used without saying so",
			[]resources.Resource{build(t, configMap("0").WithData(into(a))), build(t, configMap("1").WithMutation(using(a))), build(t, configMap("2").WithMutation(using(a)).WithOptionalData(a))},
			`resource v1/ConfigMap/shop/1 uses the data "a" without saying so; add WithDataGuard or WithOptionalData`,
		},

		{"nothing to write", []resources.Resource{build(t, configMap("0").ReadOnly(concepts.AbsenceBlocks))}, "all resources are read-only"},
		{"a late one that is not amendable", []resources.Resource{build(t, configMap("0").WithDataExtractor(extractor)), handwritten{"1"}}, "it must implement concepts.Amendable"},
	} {
		_, err := generate(t, tc.set...)
		var refused *inventory.RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
		}
	}
	off := feature.NewBooleanGate(false)
	if objects, err := generate(t, build(t, configMap("0").ReadOnly(concepts.AbsenceBlocks)), build(t, configMap("1").GatedBy(off))); err != nil || len(objects) > 0 {
		t.Errorf("all that is written is off: %v, %v", objects, err)
	}
	if objects, err := generate(t); err != nil || len(objects) > 0 {
		t.Errorf("no resources: %v, %v", objects, err)
	}
}

// TestUnknownStatuses: a status that a handler has made up does not become the reason of a condition.
func TestUnknownStatuses(t *testing.T) {
	t.Parallel()
	observed := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "0"},
	}}
	working := func(concepts.ConvergingOperation, *corev1.ConfigMap) (concepts.OperationalStatusWithReason, error) {
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending}, nil
	}
	for want, builder := range map[string]*configmap.Builder{
		`converging status: invalid value "not fine!"; must be one of: Operational, OperationPending, OperationFailing`: configMap("0").WithCustomConvergeStatus(
			func(concepts.ConvergingOperation, *corev1.ConfigMap) (concepts.OperationalStatusWithReason, error) {
				return concepts.OperationalStatusWithReason{Status: "not fine!"}, nil
			}),
		`grace status: invalid value "Meh"; must be one of: Healthy, Degraded, Down`: configMap("0").WithCustomConvergeStatus(working).WithCustomGraceStatus(
			func(*corev1.ConfigMap) (concepts.GraceStatusWithReason, error) {
				return concepts.GraceStatusWithReason{Status: "Meh"}, nil
			}),
	} {
		objects, err := generate(t, build(t, builder))
		if err != nil {
			t.Fatal(err)
		}
		judge, _ := behaviors.Of[behaviors.Judged](objects[0])
		if got := judge.Judge(observed); got.Status != status.UnknownStatus || got.Message != want || got.Reason != "" {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

type brokenGate struct{}

func (brokenGate) Enabled() (bool, error) { return false, errors.New("broken") }

// using is a mutation that uses data.
func using(data *concepts.Data[string]) configmap.Mutation {
	return configmap.Mutation{Name: "using " + data.Name(), Mutate: func(*configmap.Mutator) error {
		data.Get()
		return nil
	}}
}

// handwritten is a resource with nothing but the required methods.
type handwritten struct{ name string }

func (h handwritten) Identity() string { return "v1/ConfigMap/shop/" + h.name }

func (h handwritten) Object() (client.Object, error) {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: h.name}}, nil
}

func (h handwritten) Mutate(current client.Object) error {
	current.SetLabels(map[string]string{"mutated": "true"})
	return nil
}

// TestAnnotations: policies and the order of deletion.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	off := build(t, configMap("off").GatedBy(feature.NewBooleanGate(false)))
	objects, err := generate(t, build(t, configMap("0")), off, build(t, configMap("1").Auxiliary().WithApplyOrder(3)), handwritten{"2"}, build(t, configMap("3").WithDeleteOrder(9)))
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{
		nil, nil, {"delete-order": "9"}, {"await": "never", "apply-order": "3"},
	}
	orders := []int{0, -2, -3, -4}
	for i, object := range objects {
		for suffix, value := range want[i] {
			if got := object.GetAnnotations()[reconcilerName+"/"+suffix]; got != value {
				t.Errorf("object %d: %s is %q, want %q", i, suffix, got, value)
			}
		}
		if ordered, ok := behaviors.Of[behaviors.Ordered](object); !ok || ordered.DeleteOrder() != orders[i] {
			t.Errorf("object %d: expected to be deleted in wave %d, got %v", i, orders[i], ordered)
		}
		if len(object.GetAnnotations()) != len(want[i]) {
			t.Errorf("object %d: unexpected annotations %v", i, object.GetAnnotations())
		}
	}
	if objects[1].GetLabels()["mutated"] != "true" {
		t.Error("the handwritten resource is not mutated")
	}
}

type spec struct {
	Version string `json:"version"`
}

func (s *spec) ToUnstructured() map[string]any { return map[string]any{"version": s.Version} }

func TestSpecOf(t *testing.T) {
	t.Parallel()
	given := &spec{Version: "1"}
	if got, err := resources.SpecOf[*spec](resources.Input{Parameters: given}); err != nil || got != given {
		t.Errorf("the spec itself: %v, %v", got, err)
	}
	for reason, parameters := range map[string]types.Unstructurable{"a pointer": given, "a map": types.UnstructurableMap{"version": "1", "other": 2}} {
		if got, err := resources.SpecOf[spec](resources.Input{Parameters: parameters}); err != nil || got.Version != "1" {
			t.Errorf("%s: %v, %v", reason, got, err)
		}
	}
	if _, err := resources.SpecOf[spec](resources.Input{Parameters: types.UnstructurableMap{"version": 1}}); err == nil || !strings.Contains(err.Error(), "decoding the parameters as resources_test.spec") {
		t.Errorf("unexpected error %v", err)
	}
	type free struct {
		Values map[string]any `json:"values"`
	}
	want := map[string]any{"large": int64(9007199254740993), "list": []any{int64(1), 1.5}}
	if got, err := resources.SpecOf[free](resources.Input{Parameters: types.UnstructurableMap{"values": want}}); err != nil || cmp.Diff(want, got.Values) != "" {
		t.Errorf("whole numbers keep their digits: got %v, %v", got.Values, err)
	}
	if _, err := resources.SpecOf[spec](resources.Input{}); err == nil || !strings.Contains(err.Error(), "there are no parameters") {
		t.Errorf("unexpected error %v", err)
	}
}

// TestFieldsThatNoTypeKnows: mutations of a late manifest keep fields that a transformer has added and the Go type
// lacks. If they would lose one, they fail.
func TestFieldsThatNoTypeKnows(t *testing.T) {
	t.Parallel()
	a := concepts.NewData[string]("a")
	web, err := deployment.NewBuilder(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}).WithOptionalData(a).
		WithMutation(deployment.Mutation{Name: "replicas", Mutate: func(m *deployment.Mutator) error {
			m.EnsureReplicas(3)
			m.EnsureContainerEnvVar(corev1.EnvVar{Name: "A", Value: "b"})
			return nil
		}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := generate(t, build(t, configMap("0").WithData(into(a))), web)
	if err != nil {
		t.Fatal(err)
	}
	late, _ := behaviors.Of[behaviors.Late](objects[1])
	manifest := func(container map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "shop", "name": "web"},
			"spec": map[string]any{"surprise": true, "replicas": int64(1), "paused": true},
		}}
		if container != nil {
			u.Object["spec"].(map[string]any)["template"] = map[string]any{"spec": map[string]any{"containers": []any{container}}}
		}
		return u
	}
	kept := manifest(nil)
	if err := late.Complete(kept); err != nil {
		t.Fatal(err)
	}
	spec, _, _ := unstructured.NestedMap(kept.Object, "spec")
	if spec["surprise"] != true || spec["replicas"] != int64(3) || spec["paused"] != true {
		t.Errorf("unexpected spec %v", spec)
	}
	lossy := manifest(map[string]any{"name": "web", "secret": "x"})
	if err := late.Complete(lossy); err == nil || !strings.Contains(err.Error(), `v1.Deployment does not know: unknown field "spec.template.spec.containers[0].secret"`) {
		t.Errorf("unexpected error %v", err)
	}
	if diff := cmp.Diff(manifest(map[string]any{"name": "web", "secret": "x"}), lossy); diff != "" {
		t.Errorf("the manifest has changed (-want +got):\n%s", diff)
	}
}
