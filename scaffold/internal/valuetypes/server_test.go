// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestCustomResources has controller-gen make definitions of all golden declarations, and an API server take them, their
// samples, and what the schemas accept. What the schemas refuse is refused.
func TestCustomResources(t *testing.T) {
	t.Parallel()
	c := testenv.Client(t)
	definitions := t.TempDir()
	generate(t, definitions)
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			kind := install(t, c, filepath.Join(definitions, f.name+".valuetypes.example_fixtures.yaml"))
			types, err := Derive(f.chart, Options{Name: f.root})
			if err != nil {
				t.Fatal(err)
			}
			var sample map[string]any
			if err := yaml.Unmarshal(types.Sample, &sample); err != nil {
				t.Fatal(err)
			}
			s := subject{client: c, kind: kind, namespace: testenv.Namespace(t)}
			for _, values := range append([]map[string]any{sample}, f.cases.Accepted...) {
				if err := s.try(t, values); err != nil {
					t.Errorf("refused: %s\n%v", literal(values), err)
				}
			}
			for _, values := range f.cases.Refused {
				if s.try(t, values) == nil {
					t.Errorf("accepted: %s", literal(values))
				}
			}
			for _, exception := range f.cases.Exceptions {
				requireNote(t, types, exception.Path)
				if err := s.try(t, exception.Values); err != nil {
					t.Errorf("this is no exception: %s\n%v", literal(exception.Values), err)
				}
			}
			for _, exception := range f.cases.Stricter {
				requireNote(t, types, exception.Path)
				if s.try(t, exception.Values) == nil {
					t.Errorf("this is no exception: %s", literal(exception.Values))
				}
			}
		})
	}
}

func requireNote(t *testing.T, types *Types, path string) {
	t.Helper()
	if !slices.ContainsFunc(types.FreeForm, func(n Note) bool { return n.Path == path }) {
		t.Errorf("no note says why %q is an exception", path)
	}
}

func generate(t *testing.T, definitions string) {
	t.Helper()
	arguments := []string{
		"tool", "-modfile=internal/tools/go.mod", "controller-gen", "crd:allowDangerousTypes=true", "object",
		"paths=./scaffold/internal/valuetypes/testdata/golden/...", "output:crd:dir=" + definitions, "output:object:dir=" + filepath.Join(definitions, "object"),
	}
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = "../../.."
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("controller-gen: %v\n%s", err, output)
	}
}

// install creates a definition, and waits until its resources are served.
func install(t *testing.T, c client.Client, file string) schema.GroupVersionKind {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, definition); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), definition); err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), definition); err != nil {
			t.Error(err)
		}
	})
	testenv.Eventually(t, func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, err.Error()
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.NonStructuralSchema {
				t.Fatal(condition.Message)
			}
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, ""
			}
		}
		return false, "not established"
	})
	return schema.GroupVersionKind{Group: definition.Spec.Group, Version: "v1", Kind: definition.Spec.Names.Kind}
}

// A subject is where values are tried.
type subject struct {
	client    client.Client
	kind      schema.GroupVersionKind
	namespace string
	count     int
}

// try creates a custom resource with values. It fails the test if a value does not survive.
func (s *subject) try(t *testing.T, values map[string]any) error {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	content, err := yaml.Marshal(map[string]any{"spec": values})
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &object.Object); err != nil {
		t.Fatal(err)
	}
	want := object.DeepCopy().Object["spec"]
	s.count++
	object.SetGroupVersionKind(s.kind)
	object.SetNamespace(s.namespace)
	object.SetName(fmt.Sprintf("case-%d", s.count))
	retry := true
	for retry {
		err = s.client.Create(t.Context(), object, client.FieldValidation("Strict"), client.DryRunAll)
		// The definition may be served later by another handler than the one that said so.
		retry = err != nil && strings.Contains(err.Error(), "could not find the requested resource")
	}
	if err != nil {
		return err
	}
	if diff := cmp.Diff(normal(t, want), normal(t, object.Object["spec"])); diff != "" {
		t.Errorf("changed by the API server (-want +got):\n%s", diff)
	}
	return nil
}

// normal returns a value with numbers as JSON has them.
func normal(t *testing.T, value any) any {
	t.Helper()
	content, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var result any
	if err := yaml.Unmarshal(content, &result); err != nil {
		t.Fatal(err)
	}
	return result
}
