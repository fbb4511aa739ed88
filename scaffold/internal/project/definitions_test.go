// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/scaffold/internal/project"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

// cases are values for the charts in the tests of package values.
type cases struct {
	// Base is part of all others.
	Base     map[string]any   `json:"base"`
	Accepted []map[string]any `json:"accepted"`
	Refused  []map[string]any `json:"refused"`
	// Left are refused by the chart's schema, and accepted by the API server. A note on the path says so.
	Left []struct {
		Path   string         `json:"path"`
		Values map[string]any `json:"values"`
	} `json:"left"`
}

// TestDefinitionsOfCharts has an API server take the schemas that come out of every chart that the repository has for
// other purposes. They accept and keep the sample, the chart's own values, and what the archives render the chart with;
// they refuse what the chart's schema refuses, unless a note names it. What is accepted gets through the types
// unchanged.
func TestDefinitionsOfCharts(t *testing.T) {
	t.Parallel()
	c := testenv.Client(t)
	folders := chartsOfTheRepository(t)
	folders[refusing] = write(t, parse(t, filepath.Join(parity, refusing)))
	for _, name := range []string{"comments", "names", "umbrella", "web"} {
		folders[name] = write(t, parse(t, "../values/testdata/"+name+".txtar"))
	}
	derived := map[string]*values.Types{}
	for name, folder := range folders {
		made, err := project.Chart(t.Context(), request(folder))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		derived[name] = made.Types
	}
	module := t.TempDir()
	kind := install(t, c, applyDefinition(t, module, derived))
	var accepted []any
	for name, folder := range folders {
		// try returns why the API server refuses values. It fails the test if they are accepted and changed.
		try := func(values map[string]any) error {
			content, err := json.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			spec := map[string]any{fieldOf(name): valuesIn(t, content)}
			object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
			object.SetGroupVersionKind(kind)
			object.SetNamespace("default")
			object.SetName("chart")
			object = object.DeepCopy()
			if err := c.Create(t.Context(), object, client.FieldValidation("Strict"), client.DryRunAll); err != nil {
				return fmt.Errorf("%s refuses %v: %w", name, values, err)
			}
			if diff := cmp.Diff(any(spec), object.Object["spec"]); diff != "" {
				t.Errorf("%s: changed by the API server (-want +got):\n%s", name, diff)
			}
			accepted = append(accepted, spec)
			return nil
		}
		given, sample := valuesIn(t, fileOf(t, folder, "given-values.yaml")), derived[name].Sample
		if name == refusing {
			if try(given) == nil {
				t.Errorf("%s accepts %v", name, given)
			}
			continue
		}
		tried := []error{try(sample), try(manifests.MergeMaps(valuesIn(t, fileOf(t, folder, "values.yaml")), sample))}
		if len(given) > 0 && beyondValues[name] == "" {
			tried = append(tried, try(given))
		}
		var cases cases
		if err := yaml.UnmarshalStrict(fileOf(t, folder, "cases.yaml"), &cases); err != nil {
			t.Fatal(err)
		}
		for _, values := range cases.Accepted {
			tried = append(tried, try(manifests.MergeMaps(cases.Base, values)))
		}
		for _, values := range cases.Refused {
			if try(manifests.MergeMaps(cases.Base, values)) == nil {
				t.Errorf("%s accepts %v", name, values)
			}
		}
		for _, left := range cases.Left {
			tried = append(tried, try(manifests.MergeMaps(cases.Base, left.Values)))
			if !slices.ContainsFunc(derived[name].FreeForm, func(n values.Note) bool { return n.Path == left.Path }) {
				t.Errorf("%s: no note on %q", name, left.Path)
			}
		}
		if err := errors.Join(tried...); err != nil {
			t.Error(err)
		}
	}
	requireRoundTrips(t, module, accepted)
}

// requireRoundTrips has a program read specs into the types, and write what an operator passes to the chart.
func requireRoundTrips(t *testing.T, module string, specs []any) {
	t.Helper()
	save(t, filepath.Join(module, "roundtrip/main.go"), []byte(`package main

import (
	"encoding/json"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"example.org/charts"
)

func main() {
	content, err := os.ReadFile("specs.json")
	if err != nil {
		log.Fatal(err)
	}
	var specs []charts.Spec
	if err := kjson.Unmarshal(content, &specs); err != nil {
		log.Fatal(err)
	}
	var got []any
	for i := range specs {
		values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&specs[i])
		if err != nil {
			log.Fatal(err)
		}
		got = append(got, values)
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		log.Fatal(err)
	}
}
`))
	content, err := json.Marshal(specs)
	if err != nil {
		t.Fatal(err)
	}
	save(t, filepath.Join(module, "specs.json"), content)
	var want, got any
	if err := errors.Join(json.Unmarshal(content, &want), json.Unmarshal([]byte(runDefinition(t, module, "go", "run", "./roundtrip")), &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changed by the types (-set +got):\n%s", diff)
	}
}

// refusing is an archive whose chart refuses the values that it is rendered with.
const refusing = "schema-violated.txtar"

// beyondValues are archives that render with values of which neither schema nor values.yaml tell, with what these are.
// Charts of that kind need free-form values.
var beyondValues = map[string]string{
	"import-values-exports.txtar": "values that the chart imports",
	"numbers-of-values.txtar":     "fields that values.yaml does not have",
	"types-replaced.txtar":        "a scalar becomes a map",
}

// fieldOf returns the field of the spec that has the values of a chart.
func fieldOf(name string) string {
	return "c" + strings.ToLower(regexp.MustCompile("[^A-Za-z0-9]").ReplaceAllString(name, ""))
}

// valuesIn reads YAML as an API server does. Null is what is not set.
func valuesIn(t *testing.T, content []byte) map[string]any {
	t.Helper()
	text, err := yaml.YAMLToJSON(content)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := kjson.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	dropNulls(values)
	return values
}

func dropNulls(values map[string]any) {
	maps.DeleteFunc(values, func(_ string, value any) bool {
		if below, ok := value.(map[string]any); ok {
			dropNulls(below)
		}
		return value == nil
	})
}

// define has controller-gen make one definition, with a field for the values of each chart, in a module.
func applyDefinition(t *testing.T, module string, derived map[string]*values.Types) []byte {
	t.Helper()
	requirements, found := bytes.CutPrefix(fileOf(t, root, "go.mod"), []byte("module github.com/component-operator/runtime\n"))
	if !found {
		t.Fatal("go.mod begins otherwise")
	}
	save(t, filepath.Join(module, "go.mod"), append([]byte("module example.org/charts\n"), requirements...))
	save(t, filepath.Join(module, "go.sum"), fileOf(t, root, "go.sum"))
	var imports, fields strings.Builder
	for _, name := range slices.Sorted(maps.Keys(derived)) {
		field := fieldOf(name)
		var source strings.Builder
		fmt.Fprintf(&source, "package %s\n\nimport (\n", field)
		for _, imported := range derived[name].Imports {
			fmt.Fprintf(&source, "\t%s %q\n", values.Alias(imported), imported)
		}
		source.WriteString(")\n\n" + derived[name].Declarations)
		save(t, filepath.Join(module, field, "types.go"), []byte(source.String()))
		fmt.Fprintf(&imports, "\t%q\n", "example.org/charts/"+field)
		fmt.Fprintf(&fields, "\t// +optional\n\t%s *%s.ShopValues `json:\"%s,omitempty\"`\n", strings.ToUpper(field), field, field)
	}
	save(t, filepath.Join(module, "types.go"), []byte("// +groupName=contents.example\n// +versionName=v1\npackage charts\n\nimport (\n"+
		"\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n"+imports.String()+")\n\n// +kubebuilder:object:root=true\ntype Charts struct {\n"+
		"\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n\n\tSpec Spec `json:\"spec\"`\n}\n\ntype Spec struct {\n"+fields.String()+"}\n"))
	definitions := t.TempDir()
	tool := strings.TrimSpace(runDefinition(t, root, "go", "tool", "-modfile=internal/tools/go.mod", "-n", "controller-gen"))
	runDefinition(t, module, tool, "crd:allowDangerousTypes=true", "paths=.", "output:crd:dir="+definitions)
	return fileOf(t, definitions, "contents.example_charts.yaml")
}

// run runs a command in a folder, and returns its output.
func runDefinition(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir = folder
	output, err := command.Output()
	if err != nil {
		var failure *exec.ExitError
		if errors.As(err, &failure) {
			output = append(output, failure.Stderr...)
		}
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

// install creates a definition, and waits until its type is served.
func install(t *testing.T, c client.Client, content []byte) schema.GroupVersionKind {
	t.Helper()
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
	kind := schema.GroupVersionKind{Group: definition.Spec.Group, Version: "v1", Kind: definition.Spec.Names.Kind}
	testenv.Eventually(t, func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, err.Error()
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.NonStructuralSchema && condition.Status == apiextensionsv1.ConditionTrue {
				t.Fatal(condition.Message)
			}
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := c.List(t.Context(), list); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	return kind
}

// fileOf returns the content of a file; nothing if there is none.
func fileOf(t *testing.T, folder, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return content
}

// save writes a file, with its folder.
func save(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
