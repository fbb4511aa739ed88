// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

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
