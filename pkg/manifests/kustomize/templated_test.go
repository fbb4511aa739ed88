// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"testing"

	"github.com/component-operator/runtime/pkg/manifests/kustomize"
)

// templatedFixtures say which plain files a kustomization with templates stands for.
var templatedFixtures = []struct {
	reason     string
	files      files
	options    options
	parameters map[string]any
	plain      files
}{
	{
		"all files are templates",
		files{"app/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: {{ .prefix }}-\n", "app/a.yaml": configMap("{{ name }}", "in: {{ namespace }}")},
		options{},
		map[string]any{"prefix": "x"},
		files{"app/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: x-\n", "app/a.yaml": configMap("web", "in: shop")},
	},
	{
		"conditions in the kustomization",
		files{"app/kustomization.yaml": "resources:\n- a.yaml\n{{- if .more }}\n- b.yaml\n{{- end }}\n", "app/a.yaml": configMap("a"), "app/b.yaml": configMap("b")},
		options{},
		map[string]any{"more": false},
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a")},
	},
	{
		"a suffix, which is removed, and files without it, which are left alone",
		files{"app/kustomization.yaml": "resources: [a.yaml, b.yaml]", "app/a.yaml.tpl": configMap("a", "x: {{ .x }}"), "app/b.yaml": configMap("b", "y: '{{ .x }}'")},
		options{TemplateSuffix: new(".tpl")},
		map[string]any{"x": "y"},
		files{"app/kustomization.yaml": "resources: [a.yaml, b.yaml]", "app/a.yaml": configMap("a", "x: y"), "app/b.yaml": configMap("b", "y: '{{ .x }}'")},
	},
	{
		"delimiters",
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", "x: <% .x %>{{ .x }}")},
		options{LeftTemplateDelimiter: new("<%"), RightTemplateDelimiter: new("%>")},
		map[string]any{"x": "y"},
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", "x: y{{ .x }}")},
	},
	{
		"the configuration file wins over the options",
		files{
			"app/.component-config.yaml": "templateSuffix: .t\nleftTemplateDelimiter: '[['\nrightTemplateDelimiter: ']]'\n",
			"app/a.yaml.t":               configMap("a", "x: '[[ .x ]]{{ .x }}'"), "app/b.yaml": configMap("b", "x: '[[ .x ]]'"),
		},
		options{TemplateSuffix: new(".tpl"), LeftTemplateDelimiter: new("<%"), RightTemplateDelimiter: new("%>")},
		map[string]any{"x": "y"},
		files{"app/kustomization.yaml": "resources: [a.yaml, b.yaml]", "app/a.yaml": configMap("a", "x: 'y{{ .x }}'"), "app/b.yaml": configMap("b", "x: '[[ .x ]]'")},
	},
	{
		"values are defaults: maps are merged, null removes, large numbers stay",
		files{
			"app/.component-config.yaml": "values: {a: {x: 1, z: 2}, large: 12345678, gone: true, list: [1, 2]}\n",
			"app/a.yaml":                 configMap("a", "all: {{ toJson . | quote }}", "large: {{ .large | quote }}"),
		},
		options{},
		map[string]any{"a": map[string]any{"z": 3}, "gone": nil, "list": []any{"x"}},
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", `all: '{"a":{"x":1,"z":3},"large":12345678,"list":["x"]}'`, "large: '12345678'")},
	},
	{
		"a folder without kustomization file",
		files{
			"app/a.yaml": configMap("a"), "app/sub/b.yml": configMap("b"), "app/c.json": "{}", "app/README.md": "# hello", "app/.hidden.yaml": "x: [",
			"app/.git/x.yaml": "x: [", "app/empty.yaml": "{{ if .missing }}x: [{{ end }}",
		},
		options{},
		nil,
		files{"app/kustomization.yaml": "resources: [a.yaml, sub/b.yml]", "app/a.yaml": configMap("a"), "app/sub/b.yml": configMap("b")},
	},
	{
		"ignored files",
		files{
			"app/.component-ignore": "# what is not wanted\n*.tpl\n\n/docs/\n!docs/a.yaml\nsub/**/x.yaml\nb.yaml\r\n", "app/a.yaml": configMap("a", "x: {{ readFile `x.tpl` | toString | quote }}"),
			"app/x.tpl": "{{ this is none", "app/docs/a.yaml": "x: [", "app/sub/deep/x.yaml": "x: [", "app/sub/deep/y.yaml": configMap("y"), "app/deep/b.yaml": "x: [",
		},
		options{},
		nil,
		files{"app/kustomization.yaml": "resources: [a.yaml, y.yaml]", "app/a.yaml": configMap("a", "x: '{{ this is none'"), "app/y.yaml": configMap("y")},
	},
	{
		"definitions in a file of their own",
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", `{{- include "lines" . | nindent 2 }}`), "app/_helpers.tpl": "{{ define `lines` }}x: {{ .x }}\ny: z{{ end }}"},
		options{},
		map[string]any{"x": "y"},
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", "x: y", "y: z")},
	},
	{
		"templates do not notice what others do to the data",
		files{
			"app/kustomization.yaml": "resources: [a.yaml, b.yaml]", "app/a.yaml": configMap("a", "x: {{ set .m `x` `changed` | toJson | quote }}"),
			"app/b.yaml": configMap("b", "x: {{ toJson .m | quote }}"),
		},
		options{},
		map[string]any{"m": map[string]any{"x": "y"}},
		files{"app/kustomization.yaml": "resources: [a.yaml, b.yaml]", "app/a.yaml": configMap("a", `x: '{"x":"changed"}'`), "app/b.yaml": configMap("b", `x: '{"x":"y"}'`)},
	},
	{
		"an included kustomization is a template, with the same data and defaults of its own",
		files{
			"app/.component-config.yaml": "includedKustomizations: [../base]\nvalues: {x: app, w: app}\ntemplateSuffix: .tpl\n", "app/kustomization.yaml.tpl": "resources: [../base]\nnamePrefix: {{ .p }}-\n",
			"base/.component-config.yaml": "values: {x: base, z: base}\n", "base/a.yaml": configMap("a", "all: {{ .x }} {{ .w }} {{ .z }}"),
		},
		options{},
		map[string]any{"p": "prod"},
		files{"app/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: prod-", "app/a.yaml": configMap("a", "all: app app base")},
	},
	{
		"an included kustomization includes another one",
		files{
			"app/.component-config.yaml": "includedKustomizations: [../b]\n", "app/kustomization.yaml": "resources: [../b]\n", "b/.component-config.yaml": "includedKustomizations: [../c/d]\n",
			"b/kustomization.yaml": "resources: [../c/d]\n", "c/d/a.yaml": configMap("{{ .n }}"),
		},
		options{},
		map[string]any{"n": "deep"},
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("deep")},
	},
	{
		"an included kustomization without anything",
		files{
			"app/.component-config.yaml": "includedKustomizations: [../empty]\n", "app/kustomization.yaml": "resources: [../empty, a.yaml]\n",
			"app/a.yaml": configMap("a"), "empty/README.md": "nothing",
		},
		options{},
		nil,
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a")},
	},
	{
		"a base that is not included is left alone",
		files{
			"app/kustomization.yaml":  "resources:\n{{ if true }}\n- ../base\n{{ end }}\nnamePrefix: {{ .p }}-\n",
			"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": configMap("a", "x: '{{ .p }}'"),
		},
		options{},
		map[string]any{"p": "prod"},
		files{"app/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: prod-", "app/a.yaml": configMap("a", "x: '{{ .p }}'")},
	},
	{
		"included files",
		files{
			"app/.component-config.yaml": "includedFiles: [../one.txt, ../shared/dir]\n", "one.txt": "one", "app/own.txt": "own", "shared/dir/x/y.txt": "{{ y }}", "shared/z.txt": "z",
			"app/a.yaml": configMap("a", "list: {{ listFiles `**.txt` | join ` ` }}", "top: {{ listFiles `*.txt` | join ` ` }}", "one: {{ readFile `../one.txt` | toString }}",
				"file: {{ readFile `./../shared/dir/x/y.txt` | toString | quote }}", "exists: {{ list (existsFile `own.txt`) (existsFile `../shared/z.txt`) (existsFile `.component-config.yaml`) | quote }}"),
		},
		options{},
		nil,
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", "list: ../one.txt ../shared/dir/x/y.txt own.txt", "top: own.txt", "one: one", "file: '{{ y }}'", "exists: '[true false true]'")},
	},
	{
		"templating turned off",
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", "x: 'dashboards say {{ this }}, scripts {{- that'")},
		options{DisableTemplating: true},
		nil,
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", "x: 'dashboards say {{ this }}, scripts {{- that'")},
	},
	{
		"templating turned off, but asked for",
		files{"app/.component-config.yaml": "templating: true", "app/a.yaml": configMap("a", "x: {{ .x }}")},
		options{DisableTemplating: true},
		map[string]any{"x": "y"},
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", "x: y")},
	},
	{
		"templating turned off, but asked for by a suffix",
		files{"app/.component-config.yaml": "templateSuffix: .tpl", "app/a.yaml.tpl": configMap("a", "x: {{ .x }}"), "app/b.yaml": configMap("b", "x: '{{ .x }}'")},
		options{DisableTemplating: true},
		map[string]any{"x": "y"},
		files{"app/kustomization.yaml": "resources: [a.yaml, b.yaml]", "app/a.yaml": configMap("a", "x: y"), "app/b.yaml": configMap("b", "x: '{{ .x }}'")},
	},
	{
		"templating turned off by the configuration file",
		files{"app/.component-config.yaml": "templating: false", "app/a.yaml": configMap("a", "x: '{{ .x }}'")},
		options{},
		map[string]any{"x": "y"},
		files{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": configMap("a", "x: '{{ .x }}'")},
	},
	{
		"templating turned off for an included kustomization, too, unless it asks",
		files{
			"app/.component-config.yaml": "includedKustomizations: [../b, ../c]", "app/kustomization.yaml": "resources: [../b, ../c]",
			"b/b.yaml": configMap("b", "x: '{{ .x }}'"), "c/.component-config.yaml": "values: {x: z}", "c/c.yaml": configMap("c", "x: {{ .x }}"),
		},
		options{DisableTemplating: true},
		nil,
		files{"app/kustomization.yaml": "resources: [b.yaml, c.yaml]", "app/b.yaml": configMap("b", "x: '{{ .x }}'"), "app/c.yaml": configMap("c", "x: z")},
	},
	{
		"what is decrypted, wherever it is",
		files{
			"app/.component-config.yaml": "includedKustomizations: [../b]\nincludedFiles: [../x.txt]", "app/kustomization.yaml": "ENC(resources: [a.yaml, ../b, ../c])",
			"app/a.yaml": "ENC(" + configMap("a", "x: {{ readFile `../x.txt` | toString }}") + ")", "x.txt": "ENC(secret)",
			"b/b.yaml": "ENC(" + configMap("b") + ")", "c/kustomization.yaml": "ENC(resources: [c.yaml])", "c/c.yaml": "ENC(" + configMap("c") + ")",
		},
		options{Decryptor: decryptor{}},
		nil,
		files{"app/kustomization.yaml": "resources: [a.yaml, b.yaml, c.yaml]", "app/a.yaml": configMap("a", "x: secret"), "app/b.yaml": configMap("b"), "app/c.yaml": configMap("c")},
	},
}

func TestTemplatedKustomizations(t *testing.T) {
	for _, tt := range templatedFixtures {
		t.Run(tt.reason, func(t *testing.T) {
			generator, err := kustomize.New(tt.files.fs(), "app", tt.options)
			if err != nil {
				t.Fatal(err)
			}
			expectSame(t, reference(t, tt.plain.dir(t)), generator, tt.parameters)
		})
	}
}
