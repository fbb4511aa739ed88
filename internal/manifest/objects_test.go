// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestObjects(t *testing.T) {
	t.Parallel()
	configMap := func(name string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" }
	item := func(name string) string {
		return "- " + strings.ReplaceAll(strings.TrimSpace(configMap(name)), "\n", "\n  ") + "\n"
	}
	tests := []struct {
		reason   string
		document string
		want     []string
		err      string
	}{
		{"nothing", "# comment\n", nil, ""},
		{"a list whose items are a map", "apiVersion: v1\nkind: List\nitems: {a: {kind: Pod}}", nil, "List: items is not a list, but a map"},
		{"a list with a misspelt field", "apiVersion: v1\nkind: List\nitmes: []", nil, "List: items is missing"},
		{"a list", "apiVersion: v1\nkind: List\nitems:\n" + item("a") + item("b"), []string{configMap("a"), configMap("b")}, ""},
		{"a list in a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  " + strings.ReplaceAll(item("a"), "\n", "\n  "), []string{configMap("a")}, ""},
		{"a typed list, whose items need no type", "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n", []string{configMap("a")}, ""},
		{"a kind that merely sounds like a list", "apiVersion: x.io/v1\nkind: WaitingList\nmetadata: {name: a}\n", []string{"apiVersion: x.io/v1\nkind: WaitingList\nmetadata: {name: a}"}, ""},
		{
			"null in the metadata means what it means to the API server",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: null, labels: null, annotations: {x: null, y: z}}",
			[]string{"apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {x: '', y: z}}"},
			"",
		},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}", nil, "kind of object a is missing"},
		{"an API version that is none", "apiVersion: a/b/c\nkind: Pod\nmetadata: {name: a}", nil, "apiVersion of object a: unexpected GroupVersion string"},
		{"no metadata", "apiVersion: v1\nkind: Pod", nil, "Pod <no name>: metadata is missing"},
		{"no name", "apiVersion: v1\nkind: Pod\nmetadata: {labels: {}}", nil, "Pod <no name>: metadata.name is missing"},
		{"a generated name of a hook", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-, annotations: {argocd.argoproj.io/hook: Sync}}", []string{"apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-, annotations: {argocd.argoproj.io/hook: Sync}}"}, ""},
		{"a generated name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}", nil, "metadata.generateName is not supported"},
		{"a name that is a number", "apiVersion: v1\nkind: Pod\nmetadata: {name: 7}", nil, "metadata.name is not a string, but the value 7"},
		{"an annotation that is a boolean", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {x: true}}", nil, "Pod a: value of metadata.annotations[x] is not a string, but the value true; put it into quotes"},
		{"annotations of a list that are none", "apiVersion: v1\nkind: List\nmetadata: {annotations: {x: 1}}\nitems: []", nil, "List: value of metadata.annotations[x] is not a string"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			content, err := Decode([]byte(tt.document))
			if err != nil {
				t.Fatal(err)
			}
			objects, err := Objects(content, nil)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := testenv.Objects(t, strings.Join(tt.want, "\n---\n"))
			if diff := cmp.Diff(want, objects, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("unexpected objects (-want +got):\n%s", diff)
			}
		})
	}
}
