// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

// built is a builder of any kind.
type built interface {
	resource() (resources.Resource, error)
}

type builderOf[R resources.Resource] struct {
	builder interface{ Build() (R, error) }
}

func (b builderOf[R]) resource() (resources.Resource, error) { return b.builder.Build() }

func of[R resources.Resource](builder interface{ Build() (R, error) }) built {
	return builderOf[R]{builder}
}

// given is a resource that is built already.
type given struct{ resources.Resource }

func (g given) resource() (resources.Resource, error) { return g.Resource, nil }

// matrixOf returns a matrix of two versions and two features, with a folder of its own. The function gets the version and the feature.
func matrixOf(t *testing.T, build func(version, feature string) []built) Matrix {
	t.Helper()
	return Matrix{
		Generate: func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
			parameters := input.Parameters.ToUnstructured()
			var all []resources.Resource
			for _, b := range build(parameters["version"].(string), parameters["feature"].(string)) {
				resource, err := b.resource()
				if err != nil {
					return nil, err
				}
				all = append(all, resource)
			}
			return all, nil
		},
		ReconcilerName: "demo.example.io", Folder: filepath.Join(t.TempDir(), "matrix"), Versions: []string{"1.0.0", "2.0.0"},
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

// merged is a mutation that merges a document into an entry.
func merged(name, patch string) configmap.Mutation {
	return configmap.Mutation{Name: name, Mutate: func(m *configmap.Mutator) error {
		m.MergeYAML("app.yaml", patch)
		return nil
	}}
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
func web(container string) built {
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

// TestMatrixProblems provokes all problems except for those of golden files.
func TestMatrixProblems(t *testing.T) {
	t.Parallel()
	const id = "v1/ConfigMap/default/a"
	only := func(b built) func(string, string) []built { return func(string, string) []built { return []built{b} } }
	withObjects := func(objects ...client.Object) func(*Matrix) {
		return func(m *Matrix) {
			cases := m.Cases
			m.Cases = func(version string) []Case {
				all := cases(version)
				for i := range all {
					all[i].Objects = objects
				}
				return all
			}
		}
	}
	sharing := func(add func(*configmap.Builder)) func(string, string) []built {
		return func(string, string) []built {
			value, extracting := concepts.NewData[string]("value"), settings("a")
			add(extracting)
			return []built{of(extracting.WithData(into(value))), of(settings("b").WithDataGuard(value).WithMutation(copied(value)))}
		}
	}
	ours := func(*configmap.Builder) {}
	theirs := func(b *configmap.Builder) { b.ReadOnly(concepts.AbsenceBlocks) }
	const all = "1.0.0 plain, 1.0.0 cache, 2.0.0 plain, 2.0.0 cache: "
	for _, tc := range []struct {
		reason string
		build  func(version, feature string) []built
		add    func(*Matrix)
		want   []string // parts of the problems, in their order
	}{
		{"mutations that are on somewhere", func(version, feature string) []built {
			return []built{of(settings("a").WithMutation(entry("always", "1"), entry("cache", "1", version == "2.0.0" && feature == "cache")))}
		}, nil, nil},
		{"a mutation that is never on", only(of(settings("a").WithMutation(entry("never", "1", false)))), nil, []string{
			id + `: mutation "never" is not on in any combination; add a case:` +
				"\n  1.0.0 plain: off: the condition is false\n  1.0.0 cache: off: the condition is false\n  2.0.0 plain: off: the condition is false\n  2.0.0 cache: off: the condition is false",
		}},
		{"a mutation that some combinations lack", func(version, _ string) []built {
			if version == "1.0.0" {
				return nil
			}
			return []built{of(settings("a").WithMutation(entry("never", "1", false)))}
		}, nil, []string{"1.0.0 cache: there is no such mutation\n  2.0.0 plain: off: the condition is false"}},
		{
			"a resource that is off",
			only(of(settings("a").GatedBy(feature.NewBooleanGate(false)).WithMutation(entry("lost", "1")))),
			nil,
			[]string{"1.0.0 plain: its resource is off: the condition is false"},
		},
		{"a resource of others", func(string, string) []built {
			return []built{of(settings("own")), of(settings("a").ReadOnly(concepts.AbsenceIsFine).WithMutation(entry("lost", "1")))}
		}, nil, []string{"1.0.0 plain: its resource is read-only"}},
		{
			"one name for several mutations",
			only(of(settings("a").WithMutation(entry("same", "1"), entry("same", "1"), entry("same", "1", false)))),
			nil,
			[]string{all + id + `: there are several mutations with the name "same"`},
		},
		{"one field with different values", func(_, feature string) []built {
			return []built{of(settings("a").WithMutation(entry("first", "1"), entry("second", "2", feature == "cache")))}
		}, nil, []string{`1.0.0 cache, 2.0.0 cache: generating: mutating ConfigMap default/a: mutations "first" and "second" both write .data.key: 1, then 2`}},
		{"different keys of one document", only(of(settings("a").WithMutation(merged("tls", "tls: on"), merged("cache", "cache: {size: 1}")))), nil, nil},
		{
			"one key of a document with different values", only(of(settings("a").WithMutation(merged("tls", "tls: on"), merged("plain", "tls: off")))), nil,
			[]string{all + `generating: mutating ConfigMap default/a: mutations "tls" and "plain" both write .data["app.yaml"].tls: on, then off`},
		},
		{"a selector", only(web("web")), nil, nil},
		{
			"a selector that matches nothing", only(web("wep")), nil,
			[]string{all + `apps/v1/Deployment/default/web: mutation "image": containers: the selector of edit 1 matches none of ["web"]`},
		},
		{"data of a case", sharing(ours), withObjects(configMapIn("default", "a", map[string]string{"value": "x"})), nil},
		{"data of the declared object", sharing(func(b *configmap.Builder) {
			b.WithMutation(configmap.Mutation{Name: "value", Mutate: func(m *configmap.Mutator) error {
				m.SetEntry("value", "x")
				return nil
			}})
		}), nil, nil},
		{
			"data that are missing", sharing(ours), withObjects(configMapIn("other", "a", map[string]string{"value": "x"})),
			[]string{all + "generating: v1/ConfigMap/default/b: its data guard waits for \"value\", which " + id + " does not have: let Objects of the case have that object, as it is in a cluster"},
		},
		{
			"data of others that are missing",
			sharing(theirs),
			nil,
			[]string{`its data guard waits for "value", which ` + id + ` does not have`},
		},
		{"data of others", sharing(theirs), withObjects(configMapIn("default", "a", map[string]string{"value": "x"})), nil},
		{
			"data that cannot be extracted",
			sharing(ours),
			withObjects(configMapIn("default", "a", map[string]string{"broken": "x"})),
			[]string{id + `: extracting data of ConfigMap default/a: "value": it is broken` + "\nv1/ConfigMap/default/b: its data guard waits"},
		},
		{"optional data that are missing", func(string, string) []built {
			value := concepts.NewData[string]("value")
			return []built{of(settings("a").WithData(into(value))), of(settings("b").WithOptionalData(value).WithMutation(copied(value)))}
		}, nil, []string{`mutating ConfigMap default/b: mutation "copied": "value": data not extracted`}},
		{"resources that do not fit together", func(string, string) []built {
			value := concepts.NewData[string]("value")
			return []built{of(settings("a").WithDataGuard(value)), of(settings("b").WithData(into(value)))}
		}, nil, []string{all + "generating: resource " + id + ` uses the data "value", which resource `}},
		{"a resource by hand", only(given{plainResource{}}), nil, nil},
		{"a resource by hand that warns", only(given{warningResource{}}), nil, []string{all + "by hand: it is strange"}},
		{"a resource by hand that fails", only(given{plainResource{fails: true}}), nil, []string{all + "generating: mutating it has failed"}},
		{"an unknown annotation", func(string, string) []built {
			object := configMapIn("default", "a", nil)
			object.Annotations = map[string]string{"demo.example.io/aply-order": "1"}
			return []built{of(configmap.NewBuilder(object))}
		}, nil, []string{all + `ConfigMap default/a: annotation demo.example.io/aply-order: unknown annotation "aply-order"`}},
		{"random values", func(string, string) []built {
			return []built{of(settings("a").WithMutation(entry("random", rand.Text())))}
		}, nil, []string{
			"1.0.0 plain: generating twice does not yield the same", "1.0.0 cache: generating twice does not yield the same",
			"2.0.0 plain: generating twice does not yield the same", "2.0.0 cache: generating twice does not yield the same",
		}},
	} {
		m := matrixOf(t, tc.build)
		if tc.add != nil {
			tc.add(&m)
		}
		got := m.examine(t.Context(), true)
		if len(got) != len(tc.want) {
			t.Errorf("%s: got %d problems, want %d: %q", tc.reason, len(got), len(tc.want), got)
			continue
		}
		for i, want := range tc.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: got problem %q, want one with %q", tc.reason, got[i], want)
			}
		}
	}
}

// TestMatrixCases: combinations follow their cases like those of a Suite.
func TestMatrixCases(t *testing.T) {
	t.Parallel()
	parameters := sharing{"a": "b"}
	fails := func(context.Context, resources.Input) ([]resources.Resource, error) {
		return nil, errors.New("it is broken")
	}
	for _, tc := range []struct {
		reason   string
		generate resources.Generate
		c        Case
		want     string
	}{
		{"an error", fails, Case{}, "1.0.0 a: generating: it is broken"},
		{"an error, in a case with a reason", fails, Case{Reason: "why not"}, "1.0.0 a (why not): generating: it is broken"},
		{"the expected error", fails, Case{Err: "broken"}, ""},
		{"another error", fails, Case{Err: "weak"}, `1.0.0 a: got error it is broken, want one with "weak"`},
		{"no error", func(context.Context, resources.Input) ([]resources.Resource, error) { return nil, nil }, Case{Err: "broken"}, `got error <nil>, want one with "broken"`},
		{"parameters that are changed", func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
			input.Parameters.(sharing)["added"] = "x"
			return nil, nil
		}, Case{Parameters: parameters}, "1.0.0 a: generating changed the parameters (-before +after):"},
		{"random values that are expected", func(context.Context, resources.Input) ([]resources.Resource, error) {
			resource, err := of(settings("a").WithMutation(entry("random", rand.Text()))).resource()
			return []resources.Resource{resource}, err
		}, Case{Random: true}, ""},
		{"a namespace and a name", func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
			return nil, fmt.Errorf("%s/%s", input.Namespace, input.Name)
		}, Case{Namespace: "shop", ComponentName: "corner"}, "1.0.0 a: generating: shop/corner"},
		{"a type that is not known", func(context.Context, resources.Input) ([]resources.Resource, error) {
			return []resources.Resource{unknownResource{}}, nil
		}, Case{}, "the type is not known to the scheme"},
	} {
		tc.c.Name = "a"
		m := Matrix{
			Generate: tc.generate, ReconcilerName: "demo.example.io", Versions: []string{"1.0.0"}, Folder: t.TempDir(),
			Cases: func(string) []Case { return []Case{tc.c} },
		}
		if got := strings.Join(m.examine(t.Context(), true), "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
		}
	}
}

// unknownResource has a Go type that no scheme knows.
type unknownResource struct{ plainResource }

type unknownObject struct{ corev1.ConfigMap }

func (r unknownResource) Object() (client.Object, error) { return &unknownObject{}, nil }

func (r unknownResource) Mutate(client.Object) error { return nil }

// TestMatrixGoldenFiles leads the golden files of a matrix through its changes.
func TestMatrixGoldenFiles(t *testing.T) {
	t.Parallel()
	value, since := "1", "2.0.0"
	m := matrixOf(t, func(version, feature string) []built {
		b := settings("a").WithPolicies(generic.Policies{Delete: inventory.DeletePolicyOrphan}).Auxiliary()
		return []built{of(settings("b")), of(b.WithMutation(entry("cache", value, version >= since && feature == "cache")))}
	})
	examine := func(update bool) string { return strings.Join(m.examine(t.Context(), update), "\n") }
	expect := func(want ...string) {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(m.Folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, len(paths))
		for i, path := range paths {
			got[i] = filepath.Base(path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
	read := func(name string) string {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(m.Folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}

	for _, want := range []string{
		"1.0.0 plain, 1.0.0 cache, 2.0.0 plain: there is no golden file", "2.0.0 cache: there is no golden file",
		"which combinations have the same outcome: there is no golden file",
	} {
		if got := examine(false); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, update := range []bool{true, false} {
		if got := examine(update); got != "" {
			t.Errorf("update %t: %s", update, got)
		}
	}
	expect("1.0.0-plain.yaml", "2.0.0-cache.yaml", "index.yaml")
	const index = header + "1.0.0-plain.yaml:\n- 1.0.0 plain\n- 1.0.0 cache\n- 2.0.0 plain\n2.0.0-cache.yaml:\n- 2.0.0 cache\n"
	if diff := cmp.Diff(index, read("index.yaml")); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
	const cache = header + "---\napiVersion: v1\ndata:\n  key: \"1\"\nkind: ConfigMap\nmetadata:\n  annotations:\n    demo.example.io/await: never\n" +
		"    demo.example.io/delete-policy: orphan\n  name: a\n  namespace: default\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  namespace: default\n"
	if diff := cmp.Diff(cache, read("2.0.0-cache.yaml")); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}

	value = "2"
	if got := examine(false); !strings.Contains(got, "2.0.0 cache: the objects differ from") || !strings.Contains(got, "(-golden +got)") || !strings.Contains(got, `key: "2"`) {
		t.Errorf("the difference is not shown: %s", got)
	}
	// Another gate shows in the index, and nowhere else if the outcomes already exist.
	value, since = "1", "1.0.0"
	if got := examine(false); !strings.Contains(got, "which combinations have the same outcome: the objects differ from") || !strings.Contains(got, "1.0.0-cache.yaml") {
		t.Errorf("the change of a gate is not shown: %s", got)
	}
	if got := examine(false); !strings.Contains(got, "2.0.0-cache.yaml: no outcome belongs to it") {
		t.Errorf("the outdated file is not found: %s", got)
	}
	if err := os.WriteFile(filepath.Join(m.Folder, "foreign.yaml"), []byte("a: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := examine(true); !strings.HasSuffix(got, "foreign.yaml: no outcome belongs to it") || strings.Contains(got, "\n") {
		t.Errorf("files of others stay and are named: got %q", got)
	}
	expect("1.0.0-cache.yaml", "1.0.0-plain.yaml", "foreign.yaml", "index.yaml")

	// As long as a combination fails, the files stay as they are.
	m.Cases = func(string) []Case {
		return []Case{{Name: "new", Parameters: types.UnstructurableMap{"version": "3.0.0", "feature": "cache"}, Err: "fails"}}
	}
	if got := examine(true); !strings.Contains(got, `1.0.0 new, 2.0.0 new: got error <nil>, want one with "fails"`) {
		t.Errorf("got %q", got)
	}
	expect("1.0.0-cache.yaml", "1.0.0-plain.yaml", "foreign.yaml", "index.yaml")
}

// TestMatrixObservation: extractors see what the case says about the cluster, and for the rest what is declared.
func TestMatrixObservation(t *testing.T) {
	t.Parallel()
	widget := func(spec, status map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": "a"},
		}}
		for field, content := range map[string]map[string]any{"spec": spec, "status": status} {
			if content != nil {
				u.Object[field] = content
			}
		}
		return u
	}
	var seen []string
	m := matrixOf(t, func(string, string) []built {
		value := concepts.NewData[string]("value")
		return []built{
			of(custom.NewBuilder(widget(map[string]any{"kept": "declared", "defaulted": "declared"}, map[string]any{"ready": "declared"})).WithDataExtractor(func(u unstructured.Unstructured) error {
				seen = append(seen, fmt.Sprint(u.Object["spec"], u.Object["status"]))
				return nil
			})),
			of(settings("typed").WithMutation(entry("key", "declared")).WithData(concepts.Into(value, func(c corev1.ConfigMap) (string, bool, error) {
				seen = append(seen, fmt.Sprint(c.Data, " ", c.UID))
				return "", false, nil
			}))),
			of(settings("off").GatedBy(feature.NewBooleanGate(false)).WithDataExtractor(func(corev1.ConfigMap) error { return errors.New("there is no object") })),
		}
	})
	m.Versions = m.Versions[:1]
	m.AddToScheme = func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypeWithName(widget(nil, nil).GroupVersionKind(), &unstructured.Unstructured{})
		return nil
	}
	live := configMapIn("default", "typed", map[string]string{"more": "live"})
	live.UID = "1"
	m.Cases = func(string) []Case {
		return []Case{{
			Name: "a", APIVersions: []string{"example.com/v1/Widget"}, Parameters: types.UnstructurableMap{"version": "", "feature": ""},
			Objects: []client.Object{live, widget(map[string]any{"defaulted": "live"}, map[string]any{"ready": "live"})},
		}}
	}
	if problems := m.examine(t.Context(), true); len(problems) > 0 {
		t.Fatal(problems)
	}
	once := []string{"map[defaulted:live kept:declared] map[ready:live]", "map[key:declared more:live] 1"}
	if diff := cmp.Diff(append(once, once...), seen); diff != "" {
		t.Errorf("the resources are generated twice (-want +got):\n%s", diff)
	}

	m.AddToScheme = func(*runtime.Scheme) error { return errors.New("no types") }
	if got := m.examine(t.Context(), true); len(got) != 1 || got[0] != "1.0.0 a: adding the types of the generator: no types" {
		t.Errorf("got %q", got)
	}
}

func TestCompleteMatrix(t *testing.T) {
	t.Parallel()
	generate := func(context.Context, resources.Input) ([]resources.Resource, error) { return nil, nil }
	cases := func(names ...string) func(string) []Case {
		return func(string) []Case {
			var all []Case
			for _, name := range names {
				all = append(all, Case{Name: name})
			}
			return all
		}
	}
	good := Matrix{Generate: generate, ReconcilerName: "x", Versions: []string{"1.0.0", "2.0.0+build.1"}, Cases: cases("a", "b")}
	for _, tc := range []struct {
		change func(*Matrix)
		want   string
	}{
		{func(*Matrix) {}, ""},
		{func(m *Matrix) { m.Generate = nil }, "the matrix needs Generate, ReconcilerName, Versions and Cases"},
		{func(m *Matrix) { m.ReconcilerName = "" }, "the matrix needs Generate, ReconcilerName, Versions and Cases"},
		{func(m *Matrix) { m.Versions = nil }, "the matrix needs Generate, ReconcilerName, Versions and Cases"},
		{func(m *Matrix) { m.Cases = nil }, "the matrix needs Generate, ReconcilerName, Versions and Cases"},
		{func(m *Matrix) { m.Versions, m.Cases = nil, nil }, "the matrix needs Generate, ReconcilerName, Versions and Cases"},
		{func(m *Matrix) { m.Cases = cases() }, `version "1.0.0": there are no cases`},
		{func(m *Matrix) { m.Cases = cases("../a") }, `version "1.0.0": case 1: invalid name "../a"; must consist of letters, digits, dots, dashes and underscores`},
		{func(m *Matrix) { m.Cases = cases("a", "a") }, `version "1.0.0": case 2: there is another case with the name "a"`},
		{func(m *Matrix) { m.Versions = []string{"../1"} }, `version "../1": invalid version; must consist of letters, digits, dots, dashes, underscores and plus signs`},
		{func(m *Matrix) { m.Versions = []string{"1", "1"} }, `combinations "1 a" and "1 a" have the same file name 1-a`},
		{func(m *Matrix) { m.Versions, m.Cases = []string{"1", "1-a"}, cases("b", "a-b") }, `combinations "1 a-b" and "1-a b" have the same file name 1-a-b`},
	} {
		m := good
		tc.change(&m)
		combinations, err := m.complete()
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("got error %q, want %q", got, tc.want)
		}
		if err == nil && (m.Folder != "testdata/matrix" || len(combinations) != 4 || combinations[3].fileName() != "2.0.0_build.1-b") {
			t.Errorf("unexpected combinations %v in %s", combinations, m.Folder)
		}
	}
	if got := (Matrix{}).examine(t.Context(), false); len(got) != 1 || got[0] != "the matrix needs Generate, ReconcilerName, Versions and Cases" {
		t.Errorf("got %q", got)
	}
}
