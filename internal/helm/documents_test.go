// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestParseDocuments(t *testing.T) {
	t.Parallel()
	object := func(name string, more ...string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" + strings.Join(more, "\n")
	}
	tests := []struct {
		reason  string
		content string
		want    []string
		err     string
	}{
		{"a value after a value", object("a") + "---\n{a: b}\n{c: d}\n", nil, "parsing f.yaml, document 2: line 2: another value begins here"},
		{"several documents", object("a") + "---\n" + object("b") + "---\n# nothing\n---\n" + object("c"), []string{object("a"), object("b"), object("c")}, ""},
		{
			"blocks of text that end with their document end with a line break",
			object("a", "data:", "  x: |", "    text") + "\n\n---\n" + object("b", "data:", "  x: |", "    text"),
			[]string{object("a", `data: {x: "text\n"}`), object("b", `data: {x: "text\n"}`)},
			"",
		},
		{
			"the items of a list inherit Helm's annotations unless they have some",
			"apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: test, other: x}}\nitems:\n" +
				"- {apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {own: x}}}\n" +
				"- {apiVersion: v1, kind: Pod, metadata: {name: b, annotations: {helm.sh/resource-policy: keep}}}\n",
			[]string{
				"apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {own: x, helm.sh/hook: test}}",
				"apiVersion: v1\nkind: Pod\nmetadata: {name: b, annotations: {helm.sh/resource-policy: keep}}",
			},
			"",
		},
		{"broken YAML", object("a") + "---\na: [", nil, "parsing f.yaml, document 2: "},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			objects, err := parseDocuments(documentsOf("f.yaml", []byte(tt.content)))
			if tt.err != "" {
				if err == nil {
					t.Fatal("it was accepted")
				}
				expectParts(t, err.Error(), tt.err, "parsing f.yaml, document ")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got, want []map[string]any
			for _, object := range objects {
				got = append(got, object.Object)
			}
			for _, text := range tt.want {
				want = append(want, testenv.Object(t, text).Object)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("unexpected objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesThatAreRendered(t *testing.T) {
	t.Parallel()
	chart := files{
		"Chart.yaml":                      metadata("top"),
		"templates/b.yaml":                configMap("b-yaml", "a: b"),
		"templates/e.txt":                 configMap("e-txt", "a: b"),
		"templates/deeper/f.yaml":         configMap("f-deeper", "a: b"),
		"templates/NOTES.txt":             "read this",
		"templates/_partial.yaml":         "not: [valid",
		"templates/empty.yaml":            "{{ if .Values.missing }}nonsense: [{{ end }}\n",
		"charts/sub/Chart.yaml":           metadata("sub"),
		"charts/sub/templates/a.yaml":     configMap("sub-a", "a: b"),
		"charts/sub/crds/not-a-template":  "not: [valid",
		"charts/sub/crds/z.yaml":          configMap("crd-sub", `raw: "{{ not rendered }}"`),
		"crds/b.yml":                      configMap("crd-b", "a: b") + "---\n" + configMap("crd-c", "a: b"),
		"crds/a/a.json":                   `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "crd-a"}}`,
		"charts/sub/crds/again.yaml":      configMap("crd-b", "from: sub"),
		"charts/sub/charts/x/Chart.yaml":  metadata("x"),
		"charts/sub/charts/x/crds/x.yaml": configMap("crd-x", "a: b"),
	}
	loaded := load(t, chart)
	objects, err := loaded.Render(t.Context(), release(map[string]any{"no": map[string]any{"disabled": false}}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		name := object.GetName() + " | " + object.Source
		if object.Definition {
			name += " | definition"
		}
		got = append(got, name)
	}
	want := []string{
		"crd-a | top/crds/a/a.json, document 1 | definition",
		"crd-b | top/crds/b.yml, document 1 | definition",
		"crd-c | top/crds/b.yml, document 2 | definition",
		"crd-sub | top/charts/sub/crds/z.yaml, document 1 | definition",
		"crd-x | top/charts/sub/charts/x/crds/x.yaml, document 1 | definition",
		"sub-a | top/charts/sub/templates/a.yaml, document 1",
		"b-yaml | top/templates/b.yaml, document 1",
		"f-deeper | top/templates/deeper/f.yaml, document 1",
		"e-txt | top/templates/e.txt, document 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}
	for _, object := range objects {
		if object.GetName() == "crd-sub" {
			if diff := cmp.Diff(map[string]any{"raw": "{{ not rendered }}"}, object.Object["data"]); diff != "" {
				t.Error(diff)
			}
		}
		if object.GetName() == "crd-b" {
			if diff := cmp.Diff(map[string]any{"a": "b"}, object.Object["data"]); diff != "" {
				t.Errorf("the definition of the main chart counts: %s", diff)
			}
		}
	}
}
