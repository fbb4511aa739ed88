// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
)

func TestSubstitution(t *testing.T) {
	t.Parallel()
	variables := map[string]string{
		"name": "web", "n": "3", "quoted": `"3"`, "yes": "true", "big": "9007199254740993", "ports": "[{port: 80}]", "empty": "", "nested": "${name}",
	}
	for _, tc := range []struct{ reason, text, want string }{
		{"a variable", "${name}", "web"},
		{"one that does not exist", "<${other}>", "<>"},
		{"a default", "${other:-fallback} ${empty:-fallback} ${name:-fallback}", "fallback fallback web"},
		{"functions", "${name^^} ${#name} ${name/w/W}", "WEB 3 Web"},
		{"escaped", "$${name}", "${name}"},
		{"no braces: text of scripts", "$name $(name) $1 $", "$name $(name) $1 $"},
	} {
		transformer, err := manifests.NewSubstitutionObjectTransformer(variables, nil)
		if err != nil {
			t.Fatal(err)
		}
		for form, given := range map[string]client.Object{
			"typed":        configMap("ns", "a", map[string]string{"key": tc.text}),
			"unstructured": object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}, data: {key: '"+tc.text+"'}}"),
		} {
			got, err := transform(t, transformer, given)
			if err != nil {
				t.Errorf("%s (%s): %v", tc.reason, form, err)
				continue
			}
			if tc.want == tc.text {
				if got[0] != given {
					t.Errorf("%s (%s): an object without variables was copied", tc.reason, form)
				}
				continue
			}
			want := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}}")
			want.Object["data"] = map[string]any{"key": tc.want}
			if diff := cmp.Diff([]client.Object{want}, got); diff != "" {
				t.Errorf("%s (%s) (-want +got):\n%s", tc.reason, form, diff)
			}
		}
	}

	t.Run("values are pieces of YAML", func(t *testing.T) {
		t.Parallel()
		transformer, err := manifests.NewSubstitutionObjectTransformer(variables, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := transform(t, transformer, object(t,
			`{apiVersion: v1, kind: Widget, metadata: {name: a}, spec: {count: "${n}", text: "${quoted}", flag: "${yes}", big: "${big}", ports: "${ports}", same: 9007199254740993}}`))
		if err != nil {
			t.Fatal(err)
		}
		spec := got[0].(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()["spec"]
		want := map[string]any{
			"count": int64(3), "text": "3", "flag": true, "big": int64(9007199254740993), "ports": []any{map[string]any{"port": int64(80)}}, "same": int64(9007199254740993),
		}
		if diff := cmp.Diff(want, spec); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("the selector decides", func(t *testing.T) {
		t.Parallel()
		transformer, err := manifests.NewSubstitutionObjectTransformer(variables, pureSelector("b"))
		if err != nil {
			t.Fatal(err)
		}
		a, b := configMap("", "a", map[string]string{"key": "${"}), configMap("", "b", map[string]string{"key": "${name}"})
		got, err := transform(t, transformer, a, b)
		if err != nil {
			t.Fatal(err)
		}
		if want := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {key: web}}"); got[0] != client.Object(a) || cmp.Diff(client.Object(want), got[1]) != "" {
			t.Errorf("got %s", asYAML(t, got))
		}
	})
}

func TestSubstitutionErrors(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"documents": "a\n---\nb: c", "twice": "x\n  key: y", "list": "[", "kind": ""}
	for _, tc := range []struct{ reason, object, want string }{
		{"a reference without end", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {key: '${x'}}", "substituting variables in Secret a: "},
		{"a value that breaks the YAML", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {key: '${list}'}}", "substituting variables in Secret a: "},
		{"a value that adds a document", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {key: '${documents}'}}", "more than one YAML document"},
		{"a value that sets a field twice", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {key: '${twice}'}}", `key "key" already set`},
		{"what is left is no object", "{apiVersion: v1, kind: '${kind}', metadata: {name: a}}", "'Kind' is missing"},
	} {
		transformer, err := manifests.NewSubstitutionObjectTransformer(variables, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := transform(t, transformer, object(t, tc.object)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want one with %q", tc.reason, err, tc.want)
		}
	}
}
