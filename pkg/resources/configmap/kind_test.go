// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package configmap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func sample() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// TestConflicts: two mutations may write different keys of a document in one entry.
func TestConflicts(t *testing.T) {
	t.Parallel()
	merge := func(patch string) func(*Mutator) { return func(m *Mutator) { m.MergeYAML("app.yaml", patch) } }
	set := func(text string) func(*Mutator) { return func(m *Mutator) { m.SetEntry("app.yaml", text) } }
	const base = "log: {level: info}\nhosts: [a]\n"
	for _, row := range []struct {
		why           string
		base          string
		first, second func(*Mutator)
		want          string
	}{
		{"different keys", base, merge("tls: true"), merge("cache: 5"), ""},
		{"an entry, and then a key", "", set("tls: true\n"), merge("cache: 5"), ""},
		{"equal values with quotes", base, merge("tls: x"), set(`tls: "x"`), ""},
		{"a list that gets longer", base, merge("hosts: [a, b]"), merge("hosts: [a, b, c]"), ""},
		{"different values", base, merge("tls: true"), merge("tls: off"), `mutations "first" and "second" both write .data["app.yaml"].tls: true, then off`},
		{"a key with dots", base, merge("log: {a.b: 1}"), merge("log: {a.b: 2}"), `both write .data["app.yaml"].log["a.b"]: 1, then 2`},
		{"a map and a text", base, merge("tls: {cert: x}"), merge("tls: true"), `both write .data["app.yaml"].tls.cert: x, then removed`},
		{"a text and a document", "", set("one"), merge("a: 1"), `both write .data["app.yaml"]: one, then removed`},
	} {
		object := sample()
		if row.base != "" {
			object.Data = map[string]string{"app.yaml": row.base}
		}
		mutation := func(name string, mutate func(*Mutator)) Mutation {
			return Mutation{Name: name, Mutate: func(m *Mutator) error { mutate(m); return nil }}
		}
		resource, err := NewBuilder(object).WithMutation(mutation("first", row.first), mutation("second", row.second)).Build()
		if err != nil {
			t.Fatal(err)
		}
		_, err = resource.PreviewObject()
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasSuffix(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.want)
		}
	}
}
