// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"errors"
	"flag"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write golden files")

// inTree are the charts that the repository has for other purposes.
var inTree = map[string]string{
	"parcel":   "examples/parcel-operator/chart",
	"shop":     "clm/cmd/testdata/shop",
	"template": "clm/cmd/testdata/template/web",
	"embedded": "internal/helm/parity/testdata/embedded",
	"webshop":  "scaffold/internal/project/testdata/chart",
}

// A fixture is a chart, with values that are tried.
type fixture struct {
	name, root string
	chart      Chart
	cases      cases
}

// cases are values that the chart's schema accepts or refuses.
type cases struct {
	Accepted []map[string]any `json:"accepted"`
	Refused  []map[string]any `json:"refused"`
	// Exceptions are refused by the schema and accepted by the custom resource. The path is that of the note about them.
	Exceptions []struct {
		Path   string         `json:"path"`
		Values map[string]any `json:"values"`
	} `json:"exceptions"`
	// Stricter are accepted by the schema and refused by the custom resource.
	Stricter []struct {
		Path   string         `json:"path"`
		Values map[string]any `json:"values"`
	} `json:"stricter"`
}

func fixtures(t *testing.T) []*fixture {
	t.Helper()
	var all []*fixture
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files, err := txtar.FS(archive)
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{name: strings.TrimSuffix(filepath.Base(file), ".txtar")}
		f.chart = readChart(t, files)
		if dir := inTree[f.name]; dir != "" {
			f.chart = readChart(t, os.DirFS(filepath.Join("../../..", dir)))
		}
		if err := yaml.UnmarshalStrict(readFile(t, files, "cases.yaml"), &f.cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		f.root = goName(f.name) + "Values"
		all = append(all, f)
	}
	return all
}

func readFile(t *testing.T, files fs.FS, name string) []byte {
	t.Helper()
	content, err := fs.ReadFile(files, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return content
}

func readChart(t *testing.T, files fs.FS) Chart {
	t.Helper()
	chart := Chart{Values: readFile(t, files, "values.yaml"), Schema: readFile(t, files, "values.schema.json")}
	var meta struct {
		Dependencies []struct {
			Name, Alias, Condition string
			Tags                   []string
		}
	}
	if err := yaml.Unmarshal(readFile(t, files, "Chart.yaml"), &meta); err != nil {
		t.Fatal(err)
	}
	for _, d := range meta.Dependencies {
		below, err := fs.Sub(files, path.Join("charts", d.Name))
		if err != nil {
			t.Fatal(err)
		}
		chart.Dependencies = append(chart.Dependencies, Dependency{
			Name: d.Name, Alias: d.Alias, Condition: d.Condition, Tags: d.Tags, Chart: readChart(t, below),
		})
	}
	return chart
}

// source returns the declarations as a package with a custom resource around them.
func (f *fixture) source(t *testing.T, types *Types) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "// Package %s is derived from testdata/%s.txtar.\n// +groupName=%s.valuetypes.example\n// +versionName=v1\npackage %s\n\nimport (\n", f.name, f.name, f.name, f.name)
	for _, imported := range types.Imports {
		fmt.Fprintf(&out, "\t%s %q\n", Alias(imported), imported)
	}
	fmt.Fprintf(&out, "\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n)\n\n")
	for _, note := range types.FreeForm {
		fmt.Fprintf(&out, "// %q: %s\n", note.Path, note.Reason)
	}
	fmt.Fprintf(&out, "// Sample:\n//\n//\t%s\n\n", strings.ReplaceAll(strings.TrimSpace(string(types.Sample)), "\n", "\n//\t"))
	fmt.Fprintf(&out, "// +kubebuilder:object:root=true\ntype Fixture struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n\n\tSpec Spec `json:\"spec\"`\n}\n\n"+
		"type Spec struct {\n\t%s `json:\",inline\"`\n}\n\n%s", f.root, types.Declarations)
	source, err := format.Source([]byte(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			types, err := Derive(f.chart, Options{Name: f.root})
			if err != nil {
				t.Fatal(err)
			}
			got := f.source(t, types)
			golden := filepath.Join("testdata/golden", f.name, "types.go")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("declarations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCases checks the fixtures themselves: that the schema accepts and refuses what they say.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			loaded, err := load(f.chart, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, values := range f.cases.Accepted {
				if !loaded.valid(values) {
					t.Errorf("the schema refuses %s", literal(values))
				}
			}
			for _, values := range f.cases.Refused {
				if loaded.valid(values) {
					t.Errorf("the schema accepts %s", literal(values))
				}
			}
			for _, exception := range f.cases.Exceptions {
				if loaded.valid(exception.Values) {
					t.Errorf("the schema accepts %s", literal(exception.Values))
				}
			}
			for _, exception := range f.cases.Stricter {
				if !loaded.valid(exception.Values) {
					t.Errorf("the schema refuses %s", literal(exception.Values))
				}
			}
		})
	}
}
