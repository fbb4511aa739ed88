// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

var update = flag.Bool("update", false, "write golden files")

// TestDeclarations compares the declarations, notes and samples for the charts in testdata with golden files.
// project.TestDefinitionsOfCharts has an API server take them.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(err)
	}
	for _, archive := range archives {
		types, err := values.Derive(readChart(t, archive), nil, "ShopValues")
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, note := range types.FreeForm {
			fmt.Fprintf(&got, "%q: %s\n", note.Path, note.Reason)
		}
		fmt.Fprintf(&got, "\nSample:\n%s\nOptional:\n%s\n%s", text(t, types.Sample), text(t, types.Optional), types.Declarations)
		golden := strings.TrimSuffix(archive, ".txtar") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", archive, diff)
		}
	}
}

// text returns values as YAML.
func text(t *testing.T, values map[string]any) string {
	t.Helper()
	content, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// readChart reads a chart and its subcharts from an archive.
func readChart(t *testing.T, path string) helm.Anatomy {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, file := range archive.Files {
		files[file.Name] = file.Data
	}
	chart := helm.Anatomy{Values: files["values.yaml"], Schema: files["values.schema.json"]}
	if err := yaml.Unmarshal(files["Chart.yaml"], &chart); err != nil {
		t.Fatal(err)
	}
	for i, d := range chart.Dependencies {
		chart.Dependencies[i].Values, chart.Dependencies[i].Schema = files["charts/"+d.Name+"/values.yaml"], files["charts/"+d.Name+"/values.schema.json"]
	}
	return chart
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, values, schema string
		subcharts              []helm.Anatomy
		want                   []string
	}{
		{reason: "the root of the values is a list", values: "[a]", want: []string{"values.yaml", `["a"]`, "object"}},
		{reason: "no YAML", values: "a: [", want: []string{"reading values.yaml"}},
		{reason: "no JSON", schema: "{", want: []string{"values.schema.json", "JSON"}},
		{reason: "the root is no object", schema: `{"type": "string"}`, want: []string{"#/type", "object"}},
		{reason: "true is no schema for fields", schema: `true`, want: []string{"values.schema.json", "object"}},
		{reason: "a reference to nothing", schema: `{"properties": {"a": {"$ref": "#/definitions/b"}}}`, want: []string{"#/definitions/b"}},
		{reason: "a reference to a file", schema: `{"properties": {"a": {"$ref": "other.json"}}}`, want: []string{"other.json", "within the schema"}},
		{
			reason: "a reference to an address", schema: `{"properties": {"a": {"$ref": "https://example.org/a.json"}}}`,
			want: []string{"https://example.org/a.json", "within the schema"},
		},
		{reason: "a keyword with a wrong value", schema: `{"properties": {"a": {"minLength": "x"}}}`, want: []string{"/properties/a/minLength"}},
		{reason: "a name that no tag has", values: "a:\n  'b,c': 1", want: []string{`"b,c"`, `"a"`, "allowed"}},
		{reason: "a name that no tag has", schema: `{"properties": {"a\"b": {}}}`, want: []string{`"a\"b"`, "the root", "allowed"}},
		{
			reason: "an invalid schema of a subchart", want: []string{`subchart "db"`},
			subcharts: []helm.Anatomy{{Name: "db", Schema: []byte("{")}},
		},
		{
			reason: "a value in the place of a subchart", values: "db: 1", want: []string{`"db" is the name of a subchart`},
			subcharts: []helm.Anatomy{{Name: "db"}},
		},
	} {
		_, err := values.Derive(helm.Anatomy{Values: []byte(test.values), Schema: []byte(test.schema), Dependencies: test.subcharts}, nil, "ShopValues")
		if err == nil {
			t.Errorf("%s: no error", test.reason)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", test.reason, want, err)
			}
		}
	}
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	types, err := values.Derive(helm.Anatomy{Values: []byte("ingress: {a: 1}")}, nil, "ShopValues", "ShopIngress")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(types.Declarations, "type ShopIngress2 struct") {
		t.Errorf("the reserved name is not avoided:\n%s", types.Declarations)
	}
}

// TestRecursionEnds derives types from schemas that refer to themselves, or that grow with each reference.
func TestRecursionEnds(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	doubling.WriteString(`{"properties": {"a": {"$ref": "#/$defs/n0"}}, "required": ["a"], "$defs": {"n40": {"type": "string"}`)
	for i := range 40 {
		next := fmt.Sprintf(`{"$ref": "#/$defs/n%d"}`, i+1)
		fmt.Fprintf(&doubling, `, "n%d": {"type": "object", "required": ["x"], "properties": {"x": %s, "y": %s}}`, i, next, next)
	}
	doubling.WriteString("}}")
	for _, schema := range []string{
		`{"properties": {"a": {"$ref": "#"}}}`,
		`{"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}, {"type": "object"}]}}}`,
		`{"anyOf": [{"required": ["a"], "properties": {"a": {"$ref": "#"}}}, {"properties": {"b": {"type": "string"}}}]}`,
		`{"required": ["a"], "properties": {"a": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/properties/a"}}}}}`,
		doubling.String(),
	} {
		if _, err := values.Derive(helm.Anatomy{Schema: []byte(schema)}, nil, "Values"); err != nil {
			t.Errorf("%.80s: %v", schema, err)
		}
	}
}

// TestOptional checks which values are made up for what is empty by default.
func TestOptional(t *testing.T) {
	t.Parallel()
	for reason, test := range map[string]struct{ values, schema, want string }{
		"without a schema, only strings are known": {
			values: "host: ''\nname: shop\nlist: []\nmap: {}\nnothing:\non: false\nbelow:\n  secret: ''\n",
			want:   "below:\n  secret: example.org\nhost: example.org\n",
		},
		"a text matches pattern, enum and length": {
			values: "tag: ''\nclass: ''\nlevel: ''\nshort: ''\n",
			schema: `{"properties": {"tag": {"type": "string", "pattern": "^(v[0-9]+)?$"}, "class": {"enum": ["", "fast"]},
				"level": {"type": "string", "enum": [""]}, "short": {"type": "string", "maxLength": 7}}}`,
			want: "class: fast\nshort: example\ntag: v1\n",
		},
		"a list gets one item, and an object that is missing all its fields": {
			values: "routes: []\n",
			schema: `{"properties": {
				"routes": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "stops": {"type": "array", "items": {"type": "string"}}}}},
				"tls": {"type": "object", "properties": {"enabled": {"type": "boolean"}, "port": {"type": "integer", "minimum": 1}}}}}`,
			want: "routes:\n- name: example.org\n  stops:\n  - example.org\ntls:\n  enabled: true\n  port: 1\n",
		},
	} {
		types, err := values.Derive(helm.Anatomy{Values: []byte(test.values), Schema: []byte(test.schema)}, nil, "ShopValues")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, text(t, types.Optional)); diff != "" {
			t.Errorf("%s: %s", reason, diff)
		}
	}
}
