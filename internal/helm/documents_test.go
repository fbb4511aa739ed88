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
