// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/selectors"
	custom "github.com/component-operator/runtime/pkg/resources/unstructured"
	"github.com/component-operator/runtime/pkg/types"
)

// builder is a builder of any kind.
type builder func() (resources.Resource, error)

func of[R resources.Resource](b interface{ Build() (R, error) }) builder {
	return func() (resources.Resource, error) { return b.Build() }
}

func byHand(resource resources.Resource) builder {
	return func() (resources.Resource, error) { return resource, nil }
}

// matrixOf returns a matrix of two versions and two features, with a folder of its own. The function gets the version
// and the feature.
func matrixOf(t *testing.T, build func(version, feature string) []builder) Matrix {
	t.Helper()
	return Matrix{
		Generate: func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
			parameters := input.Parameters.ToUnstructured()
			var all []resources.Resource
			for _, b := range build(parameters["version"].(string), parameters["feature"].(string)) {
				resource, err := b()
				if err != nil {
					return nil, err
				}
				all = append(all, resource)
			}
			return all, nil
		},
		ReconcilerName: "demo.example.io", folder: filepath.Join(t.TempDir(), "matrix"), Versions: []string{"1.0.0", "2.0.0"},
		Cases: func(version string) []Case {
			var cases []Case
			for _, feature := range []string{"plain", "cache"} {
				cases = append(cases, Case{Name: feature, Parameters: types.UnstructurableMap{"version": version, "feature": feature}})
			}
			return cases
		},
	}
}

func settings(name string) *configmap.Builder {
	return configmap.NewBuilder(configMapIn("default", name, nil))
}

func configMapIn(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// entry is a mutation that sets an entry. Without conditions, it has no gate.
func entry(name, value string, conditions ...bool) configmap.Mutation {
	mutation := configmap.Mutation{Name: name, Mutate: func(m *configmap.Mutator) error {
		m.SetEntry("key", value)
		return nil
	}}
	for _, condition := range conditions {
		mutation.Feature = feature.NewBooleanGate(condition)
	}
	return mutation
}

// labeled is a mutation that sets a label.
func labeled(name, value string) configmap.Mutation {
	return configmap.Mutation{Name: name, Mutate: func(m *configmap.Mutator) error {
		m.EditObjectMetadata(func(e *editors.ObjectMetaEditor) error { e.EnsureLabel("key", value); return nil })
		return nil
	}}
}

// copied is a mutation that sets an entry to a value that was extracted.
func copied(data *concepts.Data[string]) configmap.Mutation {
	return configmap.Mutation{Name: "copied", Mutate: func(m *configmap.Mutator) error {
		value, err := data.Require()
		m.SetEntry("copy", value)
		return err
	}}
}

func into(data *concepts.Data[string]) concepts.Extraction[corev1.ConfigMap] {
	return concepts.Into(data, func(c corev1.ConfigMap) (string, bool, error) {
		if c.Data["broken"] != "" {
			return "", false, errors.New("it is broken")
		}
		return c.Data["value"], c.Data["value"] != "", nil
	})
}

// web is a Deployment with an edit of a container that it may lack.
func web(container string) builder {
	return of(deployment.NewBuilder(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}}}},
	}).WithMutation(deployment.Mutation{Name: "image", Mutate: func(m *deployment.Mutator) error {
		m.EditContainers(selectors.ContainerNamed(container), func(e *editors.ContainerEditor) error { e.SetImage("web:1"); return nil })
		return nil
	}}))
}

// plainResource is written by hand: its methods are those that every resource has.
type plainResource struct{ fails bool }

func (r plainResource) Identity() string { return "by hand" }

func (r plainResource) Object() (client.Object, error) {
	return configMapIn("default", "by-hand", nil), nil
}

func (r plainResource) Mutate(current client.Object) error {
	if r.fails {
		return errors.New("mutating it has failed")
	}
	current.(*corev1.ConfigMap).Data = map[string]string{"made": "by hand"}
	return nil
}

// warningResource is written by hand, and notices a mistake.
type warningResource struct{ plainResource }

func (r warningResource) Warnings() []string { return []string{"it is strange"} }

// TestMatrixProblems provokes all problems except for those of golden files. A problem of a case is that of the first
// combination.
func TestMatrixProblems(t *testing.T) {
	t.Parallel()
	const id = "v1/ConfigMap/default/a"
	only := func(b builder) func(string, string) []builder {
		return func(string, string) []builder { return []builder{b} }
	}
	sharing := func(add func(*configmap.Builder)) func(string, string) []builder {
		return func(string, string) []builder {
			value, extracting := concepts.NewData[string]("value"), settings("a")
			add(extracting)
			return []builder{of(extracting.WithData(into(value))), of(settings("b").WithDataGuard(value).WithMutation(copied(value)))}
		}
	}
	ours := func(*configmap.Builder) {}
	theirs := func(b *configmap.Builder) { b.ReadOnly(concepts.AbsenceBlocks) }
	for _, tc := range []struct {
		reason  string
		build   func(version, feature string) []builder
		objects []client.Object
		want    string // part of the first problem
	}{
		{reason: "mutations that are on somewhere", build: func(version, feature string) []builder {
			return []builder{of(settings("a").WithMutation(entry("always", "1"), entry("cache", "1", version == "2.0.0" && feature == "cache")))}
		}},
		{
			reason: "a mutation that is never on", build: only(of(settings("a").WithMutation(entry("never", "1", false)))),
			want: id + `: mutation "never" is not on in any combination; add a case: off: the condition is false`,
		},
		{
			reason: "a resource that is off", build: only(of(settings("a").GatedBy(feature.NewBooleanGate(false)).WithMutation(entry("lost", "1")))),
			want: "its resource is off: the condition is false",
		},
		{
			reason: "one name for several mutations", build: only(of(settings("a").WithMutation(entry("same", "1"), entry("same", "1")))),
			want: "1.0.0-plain: generating: " + id + `: there are several mutations with the name "same"`,
		},
		{reason: "one field with different values", build: func(_, feature string) []builder {
			return []builder{of(settings("a").WithMutation(labeled("first", "1"), labeled("second", feature)))}
		}, want: `1.0.0-plain: generating: ` + id + `: mutating ConfigMap default/a: mutations "first" and "second" both write .metadata.labels.key: 1, then plain`},
		{
			reason: "a selector that matches nothing", build: only(web("wep")),
			want: `apps/v1/Deployment/default/web: mutation "image": containers: the selector of edit 1 matches none of ["web"]`,
		},
		{reason: "data of a case", build: sharing(ours), objects: []client.Object{configMapIn("default", "a", map[string]string{"value": "x"})}},
		{reason: "data of the declared object", build: sharing(func(b *configmap.Builder) {
			b.WithMutation(configmap.Mutation{Name: "value", Mutate: func(m *configmap.Mutator) error {
				m.SetEntry("value", "x")
				return nil
			}})
		})},
		{
			reason: "data that are missing", build: sharing(ours), objects: []client.Object{configMapIn("other", "a", map[string]string{"value": "x"})},
			want: `v1/ConfigMap/default/b: its data guard waits for "value": let Objects of the case have the object with these data`,
		},
		{reason: "data of others", build: sharing(theirs), objects: []client.Object{configMapIn("default", "a", map[string]string{"value": "x"})}},
		{reason: "data of a type that the scheme lacks", build: func(string, string) []builder {
			value := concepts.NewData[string]("value")
			return []builder{of(custom.NewBuilder(&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": "a"},
			}}).WithData(concepts.Into(value, func(u unstructured.Unstructured) (string, bool, error) { return u.GetName(), true, nil }))), of(settings("b").WithDataGuard(value))}
		}},
		{
			reason: "data that cannot be extracted", build: sharing(ours), objects: []client.Object{configMapIn("default", "a", map[string]string{"broken": "x"})},
			want: id + `: extracting data of ConfigMap default/a: "value": it is broken`,
		},
		{reason: "resources that do not fit together", build: func(string, string) []builder {
			value := concepts.NewData[string]("value")
			return []builder{of(settings("a").WithDataGuard(value)), of(settings("b").WithData(into(value)))}
		}, want: "generating: resource " + id + ` uses the data "value", which resource `},
		{reason: "a resource by hand that warns", build: only(byHand(warningResource{})), want: "by hand: it is strange"},
		{reason: "a resource by hand that fails", build: only(byHand(plainResource{fails: true})), want: "generating: mutating it has failed"},
	} {
		m := matrixOf(t, tc.build)
		cases := m.Cases
		m.Cases = func(version string) []Case {
			all := cases(version)
			for i := range all {
				all[i].Objects = tc.objects
			}
			return all
		}
		got := append(m.examine(t.Context(), true), "")[0]
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got problem %q, want one with %q", tc.reason, got, tc.want)
		}
	}
}

// TestMatrixGoldenFiles: each combination has a file, with the annotations of policies.
func TestMatrixGoldenFiles(t *testing.T) {
	t.Parallel()
	value := "1"
	m := matrixOf(t, func(version, feature string) []builder {
		b := settings("a").WithPolicies(generic.Policies{Delete: inventory.DeletePolicyOrphan}).Auxiliary()
		return []builder{of(b.WithMutation(entry("cache", value, version == "2.0.0" && feature == "cache")))}
	})
	examine := func(update bool) string { return strings.Join(m.examine(t.Context(), update), "\n") }
	for _, update := range []bool{true, false} {
		if got := examine(update); got != "" {
			t.Errorf("update %t: %s", update, got)
		}
	}
	content, err := os.ReadFile(filepath.Join(m.folder, "2.0.0-cache.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const want = header + "---\napiVersion: v1\ndata:\n  key: \"1\"\nkind: ConfigMap\nmetadata:\n  annotations:\n    demo.example.io/await: never\n" +
		"    demo.example.io/delete-policy: orphan\n  name: a\n  namespace: default\n"
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	value = "2"
	if got := examine(false); !strings.HasPrefix(got, "2.0.0-cache: the objects differ from") {
		t.Errorf("the difference is not shown: %s", got)
	}
	value, m.Versions = "1", []string{"2.0.0"}
	if got := examine(false); !strings.Contains(got, "1.0.0-plain.yaml: there is no case for it") {
		t.Errorf("the outdated file is not found: %s", got)
	}
}

func TestIncompleteMatrix(t *testing.T) {
	t.Parallel()
	good := matrixOf(t, func(string, string) []builder { return nil })
	for _, tc := range []struct {
		change func(*Matrix)
		want   string
	}{
		{func(m *Matrix) { m.Versions = []string{"2.0.0+build.1"} }, ""},
		{func(m *Matrix) { m.Generate = nil }, "the matrix needs Generate, ReconcilerName, Versions and Cases"},
		{func(m *Matrix) { m.Cases = func(string) []Case { return nil } }, `version "1.0.0": there are no cases`},
		{func(m *Matrix) { m.Versions = []string{"../1"} }, `case 1: invalid name "../1-plain"; must consist of letters, digits, dots, dashes and underscores`},
		{func(m *Matrix) { m.Versions = []string{"1", "1"} }, `case 3: there is another case with the name "1-plain"`},
	} {
		m := good
		tc.change(&m)
		if got := strings.Join(m.examine(t.Context(), true), "\n"); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
