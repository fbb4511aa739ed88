// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// dependencies returns the Chart.yaml of a chart with dependencies.
func dependencies(declarations ...string) string {
	return metadata("top", append([]string{"dependencies:"}, declarations...)...)
}

func TestUnknownValues(t *testing.T) {
	t.Parallel()
	reads := func(template string) files { return files{"templates/a.yaml": template} }
	defaults := func(values string) files { return files{"values.yaml": values} }
	schema := func(content string) files { return files{"values.schema.json": content} }
	// sub is a dependency with defaults and a template.
	sub := files{"Chart.yaml": metadata("sub"), "values.yaml": "image: {tag: a}\n", "templates/a.yaml": `{{ .Values.port }}{{ .Values.global.domain }}`}.below("charts/sub")
	library := func(definitions string) files {
		return files{"Chart.yaml": metadata("lib", "type: library"), "templates/_a.tpl": definitions}.below("charts/lib")
	}
	for _, tt := range []struct {
		reason string
		files  files
		given  string
		want   string // paths, each with its suggestion after ">"
	}{
		// Defaults
		{"a typo in a key", defaults("image: {tag: a}"), "image: {tagg: b}", "image.tagg > image.tag"},
		{"the map is unknown, not each value in it", defaults("image: {tag: a}"), "imgae: {tag: b, name: c}", "imgae > image"},
		{"a value that was moved", defaults("controller: {replicaCount: 1}\nweb: {x: 1}"), "replicaCount: 2", "replicaCount > controller.replicaCount"},
		{"of several with the same key, the shortest", defaults("web: {port: 1, probe: {port: 1}}"), "port: 2", "port > web.port"},
		{"two with the same key are ambiguous", defaults("a: {port: 1}\nb: {port: 1}"), "port: 2", "port"},
		{"nothing is near", defaults("image: {tag: a}"), "replicas: 3", "replicas"},
		{"a dot too few", defaults("image: {pullPolicy: a}"), "imagePullPolicy: b", "imagePullPolicy > image.pullPolicy"},
		{"keys with dots, and null", defaults("a: {b: 1}"), "a: {c.d/e: 1}\nf.g: null", `a["c.d/e"] ["f.g"]`},
		{"below an empty map, null and other defaults", defaults("a: {}\nb: null\nc: 1\nd: [1]"), "a: {x: 1}\nb: {x: 1}\nc: {x: 1}\nd: {x: 1}", ""},
		{"lists are leaves", defaults("a: [{b: 1}]"), "a: [{c: 1}]", ""},
		{"a chart without values", minimal, "a: 1", "a"},
		{"removed defaults", defaults("a: {b: 1, c: 1}"), "a: {b: null, d: null}", "a.d"},

		// Schemas
		{
			"properties, also of parts", schema(`{"properties": {"a": {"properties": {"b": {"type": "object"}}}},
				"allOf": [{"properties": {"c": {}}}], "anyOf": [{"properties": {"d": {}}}], "oneOf": [{"properties": {"e": {}}}],
				"if": {"properties": {"f": {}}}, "then": {"properties": {"g": {}}}, "else": {"properties": {"h": {}}}}`),
			"{a: {b: 1, bb: 1}, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, typo: 1}", "a.bb typo",
		},
		{"names of any form", schema(`{"properties": {"a": {"additionalProperties": true}, "b": {"patternProperties": {"^x": {}}}, "c": {"additionalProperties": {}},
			"d": {"additionalProperties": false}}}`), "{a: {x: 1}, b: {x: 1}, c: {x: 1}, d: {x: 1}}", "d.x"},
		{
			"references", schema(`{"$ref": "#/$defs/root", "$defs": {"root": {"properties": {"a": {"$ref": "#/$defs/root"}, "b": {"$ref": "https://example.com/b"}, "c": {"$ref": "#/$defs/c"}}},
				"c": {"properties": {"d": {}}}}}`),
			"{a: {x: 1}, b: {x: 1}, c: {d: 1, e: 1}, f: 1}", "c.e f",
		},

		// Templates
		{"chains", reads(`{{ .Values.a.b }}{{ $x := . }}{{ $x.Values.c | quote }}{{ with $.Values.d }}{{ end }}{{ if and .x.Values.e true }}{{ end }}`), "{a: {b: {x: 1}, c: 1}, c: 1, d: {x: 1}, e: 1, f: 1}", "a.c > c f"},
		{"literal keys of functions", reads(`{{ index .Values "a" "b-c" }}{{ get $.Values.d "e" }}{{ index .Values.g .x "h" }}{{ list .Values.i "j" }}`), "{a: {b-c: {x: 1}, d: 1}, d: {f: 1}, g: {x: 1}, i: {x: 1}}", "a.d > d d.f"},
		{"in parentheses", reads(`{{ (.Values.a).b }}{{ ((.x).Values.c).d }}`), "{a: {x: 1}, c: {x: 1}, d: 1}", "d"},
		{"all values", reads(`{{ toYaml .Values }}`), "a: 1", ""},
		{"all values by a method", reads(`{{ dig "a" "b" 1 .Values.AsMap }}`), "a: 1", ""},
		{"all values by name", reads(`{{ index . "Values" "a" }}`), "a: 1", ""},
		{"a comment reads nothing", reads(`{{/* .Values */}}{{ .ValuesOfOthers.a }}`), "a: 1", "a"},
		{"a template that cannot be parsed", reads(`{{ if }}`), "a: 1", ""},
		{"unknown functions", reads(`{{ unheardOf .Values.a }}`), "{a: 1, b: 1}", "b"},
		{"templates in given values", minimal, "a: ['{{ .Values.b }}']", "a"},
		{"templates in defaults", defaults(`a: ["{{ .Values.b }} {{"]`), "b: {x: 1}\nc: 1", "c"},
		{"templates in templates", reads(`{{ tpl "{{ .Values.a }}" . }}{{ tpl (printf "{{ .Values.b.%s }}" .x) . }}`), "{a: 1, b: {x: 1}, c: 1}", "c"},
		{"templates in files", reads(`{{ tpl (.Files.Get "a.txt") . }}`).with(files{"a.txt": "{{ .Values.a }}", "b.txt": ".Values"}), "{a: 1, b: 1}", "b"},
		{"notes and partials", files{"templates/NOTES.txt": "{{ .Values.a }}", "templates/_a.tpl": `{{ define "x" }}{{ .Values.b }}{{ end }}{{ block "c" . }}{{ .Values.c }}{{ end }}`}, "{a: 1, b: 1, c: 1}", "b"},
		{"definitions that are included", files{
			"templates/_a.tpl": `{{ define "x" }}{{ template "y" . }}{{ end }}{{ define "y" }}{{ .ctx.Values.a }}{{ end }}{{ define "unused" }}{{ .Values }}{{ end }}`,
			"templates/a.yaml": `{{ include "x" . }}{{ include (print $.Template.BasePath "/b.yaml") . }}`,
		}, "{a: 1, b: 1}", "b"},
		{"definitions with a name that is not in the text", files{"templates/_a.tpl": `{{ define "x.y" }}{{ .Values.a }}{{ end }}`, "templates/a.yaml": `{{ include (printf "x.%s" .z) . }}`}, "{a: 1, b: 1}", "b"},
		{"definitions that strings include", files{
			"templates/_a.tpl": `{{ define "x.y" }}{{ .Values.a }}{{ end }}{{ define "z" }}{{ .Values.b }}{{ end }}`,
			"templates/a.yaml": "{{ tpl \"{{ include \\\"x.y\\\" . }}\" . }}",
		}, "{a: 1, b: 1}", "b"},
		{"definitions that strings include by an expression", files{
			"templates/_a.tpl": `{{ define "x.y" }}{{ .Values.a }}{{ end }}`,
			"templates/a.yaml": "{{ tpl (printf `{{ include \"%s.y\" . }}` .x) . }}",
		}, "{a: 1, b: 1}", "b"},

		// Dependencies
		{"of a dependency", sub, "sub: {image: {tag: 1, tagg: 1}, prot: 1, port: 1}\nport: 1", "port > sub.port sub.image.tagg > sub.image.tag sub.prot > sub.port"},
		{"global values", sub, "global: {domain: a, x: 1}\nsub: {global: {domain: a, x: 1}}", "global.x sub.global.x"},
		{"global values of a dependency that uses all of its values", sub.with(files{"charts/sub/templates/b.yaml": "{{ .Values }}"}), "{global: {x: 1}, sub: {x: 1}, x: 1}", "x"},
		{"by its alias only", sub.with(files{"Chart.yaml": dependencies("- {name: sub, alias: other, version: 1.x.x}")}), "{sub: {port: 1}, other: {port: 1}}", "sub"},
		{"switches", sub.with(files{"Chart.yaml": dependencies(`- {name: sub, version: 1.x.x, condition: "sub.enabled,other.enabled", tags: [back]}`), "values.yaml": "sub: {enabled: false}"}), "{sub: {enabled: 1}, other: {enabled: 1, x: 1}, tags: {back: 1, x: 1}}", "other.x tags.x"},
		{"reads of the parent", sub.with(reads("{{ .Values.sub.a }}")), "sub: {a: 1, b: 1}", "sub.b"},
		{"reads by way of the dependency", sub.with(reads(`{{ include "x" .Subcharts.sub }}{{ define "x" }}{{ .Values.a }}{{ end }}`)), "sub: {a: 1, b: 1}", "sub.b"},
		{"imported exports", sub.with(files{
			"Chart.yaml": dependencies("- {name: sub, version: 1.x.x, import-values: [data]}"), "charts/sub/values.yaml": "exports: {data: {a: {b: 1}}}",
		}), "{a: {b: 1, c: 1}, sub: {exports: {data: {x: 1}}}}", "a.c"},
		{"imported values", sub.with(files{
			"Chart.yaml": dependencies("- {name: sub, version: 1.x.x, import-values: [{child: image, parent: my.image}]}"),
		}), "{my: {image: {tag: 1, tagg: 1}, x: 1}, sub: {image: {y: 1}}}", "my.image.tagg > my.image.tag my.x"},
		{"library", library(`{{ define "lib.x" }}{{ .context.Values.a }}{{ end }}{{ define "lib.all" }}{{ .Values }}{{ end }}`).with(reads(`{{ include "lib.x" . }}`)), "{a: 1, b: 1}", "b"},
		{"library that uses all values", library(`{{ define "lib.all" }}{{ .Values }}{{ end }}`).with(reads(`{{ include "lib.all" . }}`)), "b: 1", ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			var given map[string]any
			if err := yaml.Unmarshal([]byte(tt.given), &given); err != nil {
				t.Fatal(err)
			}
			found, err := load(t, files{"Chart.yaml": metadata("top")}.with(tt.files)).UnknownValues(given)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, value := range found {
				got = append(got, strings.TrimSuffix(value.Path+" > "+value.Suggestion, " > "))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// References that lead to more and more schemas count as everything.
	many := `{"$ref": "#/definitions/x0", "definitions": {`
	for i := range 40 {
		many += fmt.Sprintf(`"x%d": {"properties": {"x": {"$ref": "#/definitions/x%[2]d"}, "y": {"$ref": "#/definitions/x%[2]d"}}},`, i, i+1)
	}
	many += `"x40": {}}}`
	if found, err := load(t, files{"Chart.yaml": metadata("top"), "values.schema.json": many}).UnknownValues(map[string]any{"z": 1}); err != nil || len(found) != 1 {
		t.Errorf("want an end, and what is certain, got %v, %v", found, err)
	}
	if _, err := load(t, minimal).UnknownValues(map[string]any{"a": func() {}}); err == nil || !strings.Contains(err.Error(), "value a ") {
		t.Errorf("want an error about the value, got %v", err)
	}
}
