// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

func configMap(name string, annotations map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
}

// suiteOf returns a suite with a folder of its own, and a generator that calls the function.
func suiteOf(t *testing.T, generate func(ctx context.Context, parameters map[string]any) ([]client.Object, error)) Suite {
	t.Helper()
	return Suite{
		ReconcilerName: "demo.example.io",
		Folder:         filepath.Join(t.TempDir(), "golden"),
		Generator: manifests.GeneratorFunc(func(ctx context.Context, _, _ string, parameters types.Unstructurable) ([]client.Object, error) {
			if shared, ok := parameters.(sharing); ok {
				return generate(ctx, shared)
			}
			return generate(ctx, parameters.ToUnstructured())
		}),
	}
}

// sharing are parameters that a generator can spoil.
type sharing map[string]any

func (s sharing) ToUnstructured() map[string]any { return types.UnstructurableMap(s).ToUnstructured() }

func TestExamine(t *testing.T) {
	t.Parallel()
	calls := 0
	annotated := func(suffix, value string) func(context.Context, map[string]any) ([]client.Object, error) {
		return func(context.Context, map[string]any) ([]client.Object, error) {
			return []client.Object{configMap("a", map[string]string{"demo.example.io/" + suffix: value, "other.example.io/apply-order": "x"})}, nil
		}
	}
	random := func(name string, data map[string]any, value string) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "stringData": data, "list": []any{map[string]any{"value": value}},
		}}
	}
	for _, tc := range []struct {
		reason   string
		generate func(context.Context, map[string]any) ([]client.Object, error)
		add      func(*Suite, *Case)
		want     []string // parts of the problems, in their order
	}{
		{"good annotations", annotated("apply-order", "-1"), nil, nil},
		{"a bad value", annotated("apply-order", "first"), nil, []string{`ConfigMap a: annotation demo.example.io/apply-order: invalid value "first"; must be an integer`}},
		{"an unknown annotation", annotated("aply-order", "1"), nil, []string{`ConfigMap a: annotation demo.example.io/aply-order: unknown annotation "aply-order"; must be one of: adoption-policy`}},
		{"the same object twice, once with the namespace that is the default", func(context.Context, map[string]any) ([]client.Object, error) {
			other := configMap("a", nil)
			other.Namespace = "default"
			return []client.Object{configMap("a", nil), other}, nil
		}, nil, []string{"ConfigMap default/a: defined more than once"}},
		{"a dependent that is also a hook of each kind", func(context.Context, map[string]any) ([]client.Object, error) {
			hook := func(kind string) client.Object {
				return configMap("a", map[string]string{"demo.example.io/deletion-hook": kind})
			}
			return []client.Object{configMap("a", nil), hook("pre-delete"), hook("post-delete")}, nil
		}, nil, nil},
		{"nothing where an object should be", func(context.Context, map[string]any) ([]client.Object, error) {
			return []client.Object{nil}, nil
		}, nil, []string{"object 1: an object of type <nil> is nil"}},
		{"another result each time", func(context.Context, map[string]any) ([]client.Object, error) {
			calls++
			return []client.Object{configMap(strings.Repeat("a", calls), nil)}, nil
		}, nil, []string{"generating twice does not yield the same"}},
		{"random values that are expected", func(context.Context, map[string]any) ([]client.Object, error) {
			return []client.Object{random("a", nil, rand.Text())}, nil
		}, func(_ *Suite, c *Case) { c.Random = true }, nil},
		{"random values that are not", func(context.Context, map[string]any) ([]client.Object, error) {
			return []client.Object{random("a", nil, rand.Text())}, nil
		}, nil, []string{"generating twice does not yield the same"}},
		{"random names", func(context.Context, map[string]any) ([]client.Object, error) {
			return []client.Object{random(strings.ToLower(rand.Text()), nil, "x")}, nil
		}, func(_ *Suite, c *Case) { c.Random = true }, []string{"generating twice does not yield the same"}},
		{"parameters that are changed", func(_ context.Context, parameters map[string]any) ([]client.Object, error) {
			parameters["added"] = "x"
			return nil, nil
		}, func(_ *Suite, c *Case) { c.Parameters = sharing{} }, []string{"generating changed the parameters"}},
		{"an error", func(context.Context, map[string]any) ([]client.Object, error) { return nil, errors.New("broken") }, nil, []string{"generating: broken"}},
		{"the expected error", func(context.Context, map[string]any) ([]client.Object, error) {
			return nil, errors.New("it is broken")
		}, func(_ *Suite, c *Case) { c.Err = "broken" }, nil},
		{
			"no error", func(context.Context, map[string]any) ([]client.Object, error) { return nil, nil },
			func(_ *Suite, c *Case) { c.Err = "broken" },
			[]string{`got error <nil>, want one with "broken"`},
		},
	} {
		suite, c := suiteOf(t, tc.generate), Case{Name: "a"}
		if tc.add != nil {
			tc.add(&suite, &c)
		}
		got := suite.examine(t.Context(), c.withDefaults(), true)
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

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	value := "1"
	suite := suiteOf(t, func(context.Context, map[string]any) ([]client.Object, error) {
		other := configMap("b", nil)
		other.Data = map[string]string{"key": value}
		return []client.Object{other, configMap("a", nil)}, nil
	})
	one := Case{Name: "one"}.withDefaults()
	examine := func(update bool) string { return strings.Join(suite.examine(t.Context(), one, update), "\n") }

	if got := examine(false); !strings.Contains(got, "there is no golden file") {
		t.Errorf("got %q", got)
	}
	if got := examine(true); got != "" {
		t.Errorf("writing: %s", got)
	}
	content, err := os.ReadFile(suite.path("one"))
	if err != nil {
		t.Fatal(err)
	}
	const want = header + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\ndata:\n  key: \"1\"\nkind: ConfigMap\nmetadata:\n  name: b\n"
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("sorted, without Go's noise (-want +got):\n%s", diff)
	}
	if got := examine(false); got != "" {
		t.Errorf("comparing: %s", got)
	}
	value = "2"
	if got := examine(false); !strings.Contains(got, "(-golden +got)") || !strings.Contains(got, `key: "2"`) {
		t.Errorf("the difference is not shown: %s", got)
	}

	foreign := filepath.Join(suite.Folder, "foreign.yaml")
	if err := os.WriteFile(foreign, []byte("a: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := suite.strays([]Case{one}, false); len(got) != 1 || !strings.Contains(got[0], "foreign.yaml: there is no case for it") {
		t.Errorf("got %q", got)
	}
	if got := suite.strays([]Case{{Name: "one", Err: "x"}}, true); len(got) != 1 || !strings.Contains(got[0], "foreign.yaml") {
		t.Errorf("files of others stay and are named: got %q", got)
	}
	left, err := filepath.Glob(filepath.Join(suite.Folder, "*"))
	if diff := cmp.Diff([]string{foreign}, left); err != nil || diff != "" {
		t.Errorf("files that are left (-want +got):\n%s%v", diff, err)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	good := Suite{Generator: &manifests.DummyGenerator{}, ReconcilerName: "x"}
	for _, tc := range []struct {
		suite Suite
		cases []Case
		want  string
	}{
		{good, []Case{{Name: "a"}, {Name: "b"}}, ""},
		{Suite{ReconcilerName: "x"}, nil, `the suite needs Generator and ReconcilerName, got <nil> and "x"`},
		{good, []Case{{Name: "../a"}}, `case 1: invalid name "../a"; must consist of letters, digits, dots, dashes and underscores`},
		{good, []Case{{Name: "a"}, {Name: "a"}}, `case 2: there is another case with the name "a"`},
	} {
		got := ""
		if err := tc.suite.complete(tc.cases); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("got error %q, want %q", got, tc.want)
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
