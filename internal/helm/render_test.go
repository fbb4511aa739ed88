// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/pkg/types"
)

// show is a template expression that prints values as JSON text.
func show(expression string) string {
	return "{{ " + expression + " | toJson | quote }}"
}

func TestRenderBuiltins(t *testing.T) {
	t.Parallel()
	chart := files{
		"Chart.yaml": metadata("top", "appVersion: 9.9.9", "description: text"),
		"templates/a.yaml": configMap("builtins",
			"release: "+show("dict \"n\" .Release.Name \"ns\" .Release.Namespace \"s\" .Release.Service \"r\" .Release.Revision \"i\" .Release.IsInstall \"u\" .Release.IsUpgrade"),
			"chart: {{ .Chart.Name }} {{ .Chart.Version }} {{ .Chart.AppVersion }} {{ .Chart.Description }} {{ .Chart.IsRoot }}",
			"template: {{ .Template.Name }} {{ .Template.BasePath }}",
			"version: {{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.KubeVersion.Major }} {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.KubeVersion.GitVersion }} {{ .Capabilities.KubeVersion }}",
			`apis: {{ .Capabilities.APIVersions.Has "apps/v1" }} {{ .Capabilities.APIVersions.Has "apps/v1/Deployment" }} {{ .Capabilities.APIVersions.Has "apps/v2" }}`,
			"helm: {{ .Capabilities.HelmVersion.Version | trunc 1 }}",
			`file: {{ .Files.Get "config.txt" | quote }}`,
			`lines: `+show(`.Files.Lines "config.txt"`),
			`empty: `+show(`.Files.Lines "empty.txt"`),
			`missing: `+show(`.Files.Lines "missing.txt"`),
			`secret: `+show(`(.Files.Glob "*.txt").AsSecrets`),
			`missing-value: "[{{ .Values.nothing }}]"`,
			`toml: `+show(`dict "a" "b" | toToml`),
			`dns: "[{{ getHostByName "localhost" }}]"`,
		),
		"config.txt": "one\ntwo",
		"empty.txt":  "",
	}
	want := map[string]map[string]any{"builtins": {
		"release":       `{"i":true,"n":"web","ns":"shop","r":3,"s":"Helm","u":false}`,
		"chart":         "top 1.2.3 9.9.9 text true",
		"template":      "top/templates/a.yaml top/templates",
		"version":       "v1.36.3 1 36 v1.36.3 v1.36.3",
		"apis":          "true true false",
		"helm":          "v",
		"file":          "one\ntwo",
		"lines":         `["one","two"]`,
		"empty":         `[]`,
		"missing":       `[]`,
		"secret":        `"config.txt: b25lCnR3bw==\nempty.txt: \"\""`,
		"missing-value": "[]",
		"toml":          `"a = \"b\"\n"`,
		"dns":           "[]",
	}}
	if diff := cmp.Diff(want, render(t, chart, nil)); diff != "" {
		t.Errorf("unexpected data (-want +got):\n%s", diff)
	}
}

func TestEnvironmentIsOutOfReach(t *testing.T) {
	t.Parallel()
	for _, function := range []string{"env", "expandenv"} {
		chart := files{"Chart.yaml": metadata("top"), "templates/a.yaml": configMap("a", `x: {{ `+function+` "HOME" }}`)}
		expectParts(t, renderError(t, chart, nil), "top/templates/a.yaml", `function "`+function+`" not defined`)
	}
}

func TestRenderValues(t *testing.T) {
	t.Parallel()
	chart := files{
		"Chart.yaml":                    metadata("top"),
		"values.yaml":                   "scalar: default\nmap: {a: 1, b: {c: 2}}\nlist: [1, 2]\nglobal: {g: default}\nsub: {fromParent: true, removed: {by: parent}}\n",
		"templates/a.yaml":              configMap("top", "values: "+show(".Values")),
		"charts/sub/Chart.yaml":         metadata("sub"),
		"charts/sub/values.yaml":        "own: default\nfromParent: false\nmap: {v: 1, w: 2}\n",
		"charts/sub/templates/sub.yaml": configMap("sub", "values: "+show(".Values")),
	}
	tests := []struct {
		reason   string
		values   map[string]any
		top, sub string
	}{
		{
			"defaults", nil,
			`{"global":{"g":"default"},"list":[1,2],"map":{"a":1,"b":{"c":2}},"scalar":"default","sub":{"fromParent":true,"global":{"g":"default"},"map":{"v":1,"w":2},"own":"default","removed":{"by":"parent"}}}`,
			`{"fromParent":true,"global":{"g":"default"},"map":{"v":1,"w":2},"own":"default","removed":{"by":"parent"}}`,
		},
		{
			"null removes defaults, here and in subcharts; what only the parent sets for a subchart becomes null",
			map[string]any{"scalar": nil, "map": map[string]any{"b": nil}, "list": nil, "global": nil, "sub": map[string]any{"own": nil, "map": nil, "removed": nil}},
			`{"map":{"a":1},"sub":{"fromParent":true,"global":{},"removed":null}}`,
			`{"fromParent":true,"global":{},"removed":null}`,
		},
		{
			"a scalar replaces a map, and a map a scalar",
			map[string]any{"scalar": map[string]any{"now": "map"}, "map": "scalar", "list": []any{}, "global": map[string]any{"g": "given"}, "sub": map[string]any{"map": false}},
			`{"global":{"g":"given"},"list":[],"map":"scalar","scalar":{"now":"map"},"sub":{"fromParent":true,"global":{"g":"given"},"map":false,"own":"default","removed":{"by":"parent"}}}`,
			`{"fromParent":true,"global":{"g":"given"},"map":false,"own":"default","removed":{"by":"parent"}}`,
		},
		{
			"values that are not what JSON decoding yields",
			map[string]any{"scalar": struct {
				A int `json:"a"`
			}{1}, "map": map[string]string{"a": "given"}, "list": []string{"x"}},
			`{"global":{"g":"default"},"list":["x"],"map":{"a":"given","b":{"c":2}},"scalar":{"a":1},"sub":{"fromParent":true,"global":{"g":"default"},"map":{"v":1,"w":2},"own":"default","removed":{"by":"parent"}}}`,
			`{"fromParent":true,"global":{"g":"default"},"map":{"v":1,"w":2},"own":"default","removed":{"by":"parent"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			before := types.UnstructurableMap(tt.values).ToUnstructured()
			got := render(t, chart, tt.values)
			want := map[string]map[string]any{"top": {"values": tt.top}, "sub": {"values": tt.sub}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("unexpected data (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.values); diff != "" {
				t.Errorf("the caller's values were changed (-before +after):\n%s", diff)
			}
		})
	}
	t.Run("values without JSON form are refused by their path", func(t *testing.T) {
		t.Parallel()
		values := map[string]any{"a": map[string]any{"b": []any{0, func() {}}}}
		expectParts(t, renderError(t, chart, values), "rendering chart top", "value a.b[1] has type func()")
	})
	t.Run("whole numbers are not printed as floats", func(t *testing.T) {
		t.Parallel()
		got := render(t, files{"Chart.yaml": metadata("top"), "templates/a.yaml": configMap("a", `x: "{{ .Values.x }}"`)}, map[string]any{"x": int64(10000000)})
		if got["a"]["x"] != "10000000" {
			t.Errorf("got %v", got["a"]["x"])
		}
	})
}

func TestRenderSchema(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","required":["name"],"properties":{
		"replicas":{"type":"integer"},"name":{"type":"string"},
		"strict":{"type":"object","additionalProperties":false},
		"either":{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}]}
	}}`
	chart := files{
		"Chart.yaml":                    metadata("top"),
		"values.schema.json":            schema,
		"values.yaml":                   "name: default\n",
		"templates/a.yaml":              configMap("top", "a: b"),
		"charts/sub/Chart.yaml":         metadata("sub"),
		"charts/sub/values.schema.json": schema,
		"charts/sub/values.yaml":        "name: default\n",
		"charts/sub/templates/a.yaml":   configMap("sub", "a: b"),
	}
	render(t, chart, map[string]any{"replicas": int64(2), "sub": map[string]any{"replicas": 3}})

	wrong := map[string]any{
		"replicas": "two", "name": 1,
		"strict": map[string]any{"c": 1, "a": 1, "b": 1},
		"either": map[string]any{"a": 1, "b": 1},
		"sub":    map[string]any{"name": nil},
	}
	want := `rendering chart top: values don't meet the specifications of the schema(s) in the following chart(s):
top:
- at '/either': 'anyOf' failed
  - at '/either': got object, want string
  - at '/either': validation failed
    - at '/either/a': got number, want string
    - at '/either/b': got number, want string
- at '/name': got number, want string
- at '/replicas': got string, want integer
- at '/strict': additional properties 'a', 'b', 'c' not allowed
sub:
- at '': missing property 'name'`
	for range 50 {
		if diff := cmp.Diff(want, renderError(t, chart, wrong)); diff != "" {
			t.Fatalf("unexpected message (-want +got):\n%s", diff)
		}
	}
	expectParts(t, renderError(t, chart, map[string]any{"sub": "scalar"}), "rendering chart top: the values of dependency sub are not a map")
}

func TestRenderSubcharts(t *testing.T) {
	t.Parallel()
	sub := func(name string) files {
		return files{
			"Chart.yaml":       metadata(name),
			"values.yaml":      "exports: {data: {imported: from-" + name + "}}\nnested: {deep: {value: " + name + "}}\n",
			"templates/a.yaml": configMap("{{ .Chart.Name }}", `root: "{{ .Chart.IsRoot }}"`, `name: {{ include "shared" . }}`, `values: `+show(".Values.given")),
			"templates/_a.tpl": `{{ define "shared" }}` + name + `{{ end }}`,
		}
	}
	library := files{
		"Chart.yaml":             metadata("lib", "type: library"),
		"templates/_lib.tpl":     `{{ define "lib" }}library{{ end }}`,
		"templates/ignored.yaml": configMap("ignored", "a: b"),
	}
	umbrella := files{"Chart.yaml": metadata("umbrella", "dependencies:",
		"- {name: plain, version: 1.2.3}",
		"- {name: packaged, version: ~1.2.0}",
		"- {name: aliased, version: '>=1', alias: first}",
		"- {name: aliased, version: '>=1', alias: second}",
		"- {name: conditional, version: 1.2.3, condition: 'unset.path,conditional.enabled', tags: [tag]}",
		"- {name: tagged, version: 1.2.3, tags: [tag]}",
		"- {name: lib, version: 1.2.3}",
	)}.with(sub("plain").below("charts/plain")).
		with(sub("aliased").below("charts/aliased")).
		with(sub("conditional").below("charts/conditional")).
		with(sub("tagged").below("charts/tagged")).
		with(sub("undeclared").below("charts/undeclared")).
		with(library.below("charts/lib")).
		with(files{"charts/packaged-1.2.3.tgz": sub("packaged").archive(t, "packaged"), "charts/_disabled/x": "no chart"})

	tests := []struct {
		reason string
		values map[string]any
		want   string
	}{
		{"an umbrella chart without templates of its own renders its subcharts", nil, "conditional first packaged plain second tagged undeclared"},
		{"a condition disables", map[string]any{"conditional": map[string]any{"enabled": false}}, "first packaged plain second tagged undeclared"},
		{"a condition wins over tags", map[string]any{"conditional": map[string]any{"enabled": true}, "tags": map[string]any{"tag": false}}, "conditional first packaged plain second undeclared"},
		{"the first path that is there counts", map[string]any{"unset": map[string]any{"path": false}, "conditional": map[string]any{"enabled": true}}, "first packaged plain second tagged undeclared"},
		{"a tag disables", map[string]any{"tags": map[string]any{"tag": false}}, "first packaged plain second undeclared"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			data := render(t, umbrella, tt.values)
			var got []string
			for _, name := range []string{"conditional", "first", "packaged", "plain", "second", "tagged", "undeclared", "lib", "ignored"} {
				if _, ok := data[name]; ok {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
			if data["plain"]["root"] != "false" {
				t.Error("a subchart takes itself for the root")
			}
		})
	}

	t.Run("aliases have values of their own", func(t *testing.T) {
		t.Parallel()
		data := render(t, umbrella, map[string]any{"first": map[string]any{"given": 1}, "second": map[string]any{"given": 2}})
		if data["first"]["values"] != "1" || data["second"]["values"] != "2" {
			t.Errorf("got %v", data)
		}
	})
	t.Run("a definition of the parent wins over the same one of a subchart", func(t *testing.T) {
		t.Parallel()
		data := render(t, umbrella.with(files{"templates/_helpers.tpl": `{{ define "shared" }}parent{{ end }}`}), nil)
		for _, name := range []string{"plain", "packaged", "first"} {
			if data[name]["name"] != "parent" {
				t.Errorf("%s: got %v", name, data[name]["name"])
			}
		}
	})
	t.Run("parents see values, templates and contexts of subcharts", func(t *testing.T) {
		t.Parallel()
		top := files{
			"Chart.yaml": metadata("top", "dependencies:",
				"- name: plain\n  version: 1.2.3\n  import-values:\n  - data\n  - {child: nested.deep, parent: taken}",
				"- {name: lib, version: 1.2.3}"),
			"values.yaml":         "taken: {own: kept}\n",
			"templates/this.yaml": configMap("this", "imported: {{ .Values.imported }}", "taken: "+show(".Values.taken"), `lib: {{ include "lib" . }}`, "sub: {{ .Subcharts.plain.Chart.Name }}"),
		}.with(sub("plain").below("charts/plain")).with(library.below("charts/lib"))
		want := map[string]any{"imported": "from-plain", "taken": `{"own":"kept","value":"plain"}`, "lib": "library", "sub": "plain"}
		if diff := cmp.Diff(want, render(t, top, nil)["this"]); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("dependencies of old charts", func(t *testing.T) {
		t.Parallel()
		old := files{
			"Chart.yaml":        "apiVersion: v1\nname: old\nversion: 1.0.0\n",
			"requirements.yaml": "dependencies:\n- {name: plain, version: 1.2.3, condition: enabled}\n",
		}.with(sub("plain").below("charts/plain"))
		if data := render(t, old, map[string]any{"enabled": false}); len(data) != 0 {
			t.Errorf("got %v", data)
		}
		if data := render(t, old, nil); len(data) != 1 {
			t.Errorf("got %v", data)
		}
	})
}

func TestRenderKubeVersion(t *testing.T) {
	t.Parallel()
	chart := files{"Chart.yaml": metadata("top", "kubeVersion: '>=1.40.0'"), "templates/a.yaml": configMap("a", "a: b")}
	expectParts(t, renderError(t, chart, nil), "rendering chart top", "requires Kubernetes >=1.40.0", "v1.36.3")
	chart["Chart.yaml"] = metadata("top", "kubeVersion: '>=1.30.0-0'")
	render(t, chart, nil)
}

func TestRenderUpgrade(t *testing.T) {
	t.Parallel()
	chart := load(t, files{"Chart.yaml": metadata("top"), "templates/a.yaml": configMap("a", `x: "{{ .Release.IsInstall }} {{ .Release.IsUpgrade }}"`)})
	upgrade := release(nil)
	upgrade.Upgrade = true
	objects, err := chart.Render(t.Context(), upgrade)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"x": "false true"}, objects[0].Object["data"]); diff != "" {
		t.Error(diff)
	}
}

func TestRenderErrorsNameTheTemplate(t *testing.T) {
	t.Parallel()
	for reason, tt := range map[string]struct {
		template string
		want     []string
	}{
		"it does not parse":    {"{{ if }}", []string{"top/templates/a.yaml:1"}},
		"it fails":             {"a: b\n{{ fail \"told so\" }}", []string{"top/templates/a.yaml:2", "told so"}},
		"something is missing": {`{{ required "name is needed" .Values.name }}`, []string{"top/templates/a.yaml:1", "name is needed"}},
		"it calls nothing":     {`{{ include "nothing" . }}`, []string{"top/templates/a.yaml:1", "nothing"}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			message := renderError(t, files{"Chart.yaml": metadata("top"), "templates/a.yaml": tt.template}, nil)
			expectParts(t, message, append(tt.want, "rendering chart top")...)
		})
	}
}

// TestFailingNotes has a chart fail in its notes, which only users of Helm see.
func TestFailingNotes(t *testing.T) {
	t.Parallel()
	top := load(t, files{
		"Chart.yaml": metadata("top"), "templates/a.yaml": configMap("a", "a: b"), "templates/NOTES.txt": `{{ fail "set a password" }}`,
		"charts/sub/Chart.yaml": metadata("sub"), "charts/sub/templates/NOTES.txt": `{{ fail "set another one" }}`,
	})
	if objects, err := top.Render(t.Context(), release(nil)); err != nil || len(objects) != 1 {
		t.Errorf("got %d objects and error %v", len(objects), err)
	}
	for _, err := range []error{
		func() error { _, err := top.Notes(t.Context(), release(nil)); return err }(),
		func() error {
			_, err := top.Render(WithNotes(t.Context(), func(string) { t.Error("there are no notes") }), release(nil))
			return err
		}(),
	} {
		if err == nil || !strings.Contains(err.Error(), "set a") {
			t.Errorf("got error %v", err)
		}
	}
}

// Rendering changes the chart and the values it is given, and templates may change values, so nothing must be left over
// for the next rendering or the caller.
func TestRenderingsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	changing := `before: {{ toJson .Chart | quote }}{{ $_ := sortAlpha .Chart.Keywords }}{{ $_ := sortAlpha .Chart.Sources }}
  {{- range .Chart.Dependencies }}{{ $_ := sortAlpha .Tags }}{{ end }}
  values: {{ toJson .Values | quote }}{{ $_ := set .Values "left" "over" }}{{ with .Values.a }}{{ $_ := set . "b" "left over" }}{{ end }}`
	sub := files{
		"Chart.yaml":       metadata("sub", "keywords: [d, c]", "sources: [b, a]"),
		"values.yaml":      "a: {b: c}\nexports: {data: {a: {imported: true}}}\n",
		"templates/a.yaml": configMap("{{ .Chart.Name }}", changing, "chart: {{ toJson .Chart | quote }}"),
	}
	chart := load(t, files{
		"Chart.yaml": metadata("top", "keywords: [b, a]", "dependencies:", "- {name: sub, version: 1.2.3, condition: enabled, tags: [b, a], import-values: [data]}",
			"- {name: sub, version: 1.2.3, alias: other, import-values: [{child: a, parent: taken}]}"),
		"values.yaml":      "x: {y: z}\na: {own: true}\n",
		"templates/a.yaml": configMap("top", changing, "chart: {{ toJson .Chart | quote }}"),
	}.with(sub.below("charts/sub")))
	all := []map[string]any{
		nil,
		{"enabled": false, "a": map[string]any{"given": []any{map[string]any{"deep": "value"}}}},
		{"enabled": true, "x": nil},
		{"enabled": true, "sub": map[string]any{"a": map[string]any{"b": nil}}, "global": map[string]any{"g": map[string]any{}}},
	}
	var before []map[string]any
	for _, values := range all {
		before = append(before, runtime.DeepCopyJSON(values))
	}
	results := func(values map[string]any) []any {
		objects, err := chart.Render(t.Context(), release(values))
		if err != nil {
			t.Error(err)
		}
		var contents []any
		for _, object := range objects {
			contents = append(contents, object.Object)
		}
		return contents
	}
	var want [][]any
	for _, values := range all {
		want = append(want, results(values))
	}
	var group sync.WaitGroup
	for range 10 {
		for i, values := range all {
			group.Go(func() {
				if diff := cmp.Diff(want[i], results(values)); diff != "" {
					t.Errorf("unexpected objects (-first +now):\n%s", diff)
				}
			})
		}
	}
	group.Wait()
	if diff := cmp.Diff(before, all); diff != "" {
		t.Errorf("the given values were changed (-before +after):\n%s", diff)
	}
}
