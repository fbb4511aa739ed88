// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func sample() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// TestConflicts: the error about a conflict has no values.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why           string
		first, second func(*Mutator)
		want          string
	}{
		{
			"a text", func(m *Mutator) { m.SetStringData("a.b", "one") }, func(m *Mutator) { m.SetStringData("a.b", "two") },
			`mutations "first" and "second" both write .stringData["a.b"]: ***, then ***`,
		},
		{
			"a document", func(m *Mutator) { m.SetStringData("a", "user: x\npassword: one") }, func(m *Mutator) { m.SetStringData("a", "user: x\npassword: two") },
			`both write .stringData.a.password: ***, then ***`,
		},
	} {
		mutation := func(name string, mutate func(*Mutator)) Mutation {
			return Mutation{Name: name, Mutate: func(m *Mutator) error { mutate(m); return nil }}
		}
		resource, err := NewBuilder(sample()).WithMutation(mutation("first", row.first), mutation("second", row.second)).Build()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resource.PreviewObject(); err == nil || !strings.HasSuffix(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", row.why, err, row.want)
		}
	}
}
