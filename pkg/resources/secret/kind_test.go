// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckApplied(t, NewBuilder(sample()))
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("data", m.EditData))

	data := func(data map[string][]byte) *corev1.Secret { return &corev1.Secret{Data: data} }
	texts := func(texts map[string]string) *corev1.Secret { return &corev1.Secret{StringData: texts} }
	one, two := []byte("1"), []byte("2")
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*corev1.Secret, *Mutator]{
		{Why: "SetData adds an entry", Start: data(nil), Record: func(m *Mutator) { m.SetData("a", one) }, Want: data(map[string][]byte{"a": one})},
		{
			Why: "SetData replaces an entry", Start: data(map[string][]byte{"a": one, "b": one}),
			Record: func(m *Mutator) { m.SetData("a", two) }, Want: data(map[string][]byte{"a": two, "b": one}),
		},
		{
			Why: "SetData copies at once", Start: data(nil),
			Record: func(m *Mutator) {
				value := []byte("1")
				m.SetData("a", value)
				value[0] = '9'
			}, Want: data(map[string][]byte{"a": one}),
		},
		{Why: "RemoveData removes an entry", Start: data(map[string][]byte{"a": one, "b": one}), Record: func(m *Mutator) { m.RemoveData("a") }, Want: data(map[string][]byte{"b": one})},
		{Why: "RemoveData does nothing if there is no entry", Start: data(nil), Record: func(m *Mutator) { m.RemoveData("a") }, Want: data(nil)},
		{Why: "SetStringData adds an entry", Start: texts(nil), Record: func(m *Mutator) { m.SetStringData("a", "1") }, Want: texts(map[string]string{"a": "1"})},
		{
			Why: "SetStringData replaces an entry", Start: texts(map[string]string{"a": "1", "b": "1"}),
			Record: func(m *Mutator) { m.SetStringData("a", "2") }, Want: texts(map[string]string{"a": "2", "b": "1"}),
		},
		{
			Why: "RemoveStringData removes an entry", Start: texts(map[string]string{"a": "1", "b": "1"}),
			Record: func(m *Mutator) { m.RemoveStringData("a") }, Want: texts(map[string]string{"b": "1"}),
		},
		{Why: "RemoveStringData does nothing if there is no entry", Start: texts(nil), Record: func(m *Mutator) { m.RemoveStringData("a") }, Want: texts(nil)},
	})
}

func TestDataHash(t *testing.T) {
	t.Parallel()
	hash := func(secret *corev1.Secret) string {
		t.Helper()
		got, err := DataHash(secret)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	base := hash(&corev1.Secret{Data: map[string][]byte{"a": []byte("1"), "b": []byte("2")}})
	for _, row := range []struct {
		why   string
		given *corev1.Secret
		same  bool
	}{
		{"metadata and type do not count", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Type: "other", Data: map[string][]byte{"b": []byte("2"), "a": []byte("1")}}, true},
		{"stringData count as data", &corev1.Secret{StringData: map[string]string{"a": "1", "b": "2"}}, true},
		{"stringData count more than data", &corev1.Secret{Data: map[string][]byte{"a": []byte("1"), "b": []byte("7")}, StringData: map[string]string{"b": "2"}}, true},
		{"a value counts", &corev1.Secret{Data: map[string][]byte{"a": []byte("1"), "b": []byte("3")}}, false},
		{"a key counts", &corev1.Secret{Data: map[string][]byte{"a": []byte("1"), "c": []byte("2")}}, false},
		{"no data", &corev1.Secret{}, false},
	} {
		before := row.given.DeepCopy()
		if got := hash(row.given); (got == base) != row.same {
			t.Errorf("%s: the hash is %s, compared with %s", row.why, got, base)
		}
		if diff := cmp.Diff(before, row.given); diff != "" {
			t.Errorf("%s: the object was changed (-before +after):\n%s", row.why, diff)
		}
	}
	_, err := DataHash(nil)
	resourcestest.ExpectError(t, err, "must not be nil")
}

func TestDesiredHash(t *testing.T) {
	t.Parallel()
	resource, err := NewBuilder(sample()).WithMutation(Mutation{Name: "password", Mutate: func(m *Mutator) error { m.SetStringData("password", "secret"); return nil }}).Build()
	if err != nil {
		t.Fatal(err)
	}
	want, err := DataHash(&corev1.Secret{Data: map[string][]byte{"password": []byte("secret")}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := DesiredHash(resource)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected hash (-want +got):\n%s", diff)
	}
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
		{"data", func(m *Mutator) { m.SetData("a", []byte("one")) }, func(m *Mutator) { m.SetData("a", []byte("two")) }, `both write .data.a: ***, then ***`},
		{"an entry that is removed", func(m *Mutator) { m.SetData("a", []byte("one")) }, func(m *Mutator) { m.RemoveData("a") }, `both write .data.a: ***, then removed`},
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

// TestDesiredHashOfUnknownObjects: what somebody else writes is not known, so a hash of it would never change.
func TestDesiredHashOfUnknownObjects(t *testing.T) {
	t.Parallel()
	theirs, err := NewBuilder(sample()).ReadOnly(concepts.AbsenceBlocks).Build()
	if err != nil {
		t.Fatal(err)
	}
	_, err = DesiredHash(theirs)
	resourcestest.ExpectError(t, err, "v1/Secret/default/sample", "read-only", "WithData")
	_, err = DesiredHash(nil)
	resourcestest.ExpectError(t, err, "hashing a Secret", "must not be nil")
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "v1/Secret/default/sample")
}
