// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package configmap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckApplied(t, NewBuilder(sample()))
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("data", m.EditData))

	having := func(data map[string]string) *corev1.ConfigMap { return &corev1.ConfigMap{Data: data} }
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*corev1.ConfigMap, *Mutator]{
		{Why: "SetEntry adds an entry", Start: having(nil), Record: func(m *Mutator) { m.SetEntry("a", "1") }, Want: having(map[string]string{"a": "1"})},
		{
			Why: "SetEntry replaces an entry", Start: having(map[string]string{"a": "1", "b": "2"}),
			Record: func(m *Mutator) { m.SetEntry("a", "3") }, Want: having(map[string]string{"a": "3", "b": "2"}),
		},
		{
			Why: "RemoveEntry removes an entry", Start: having(map[string]string{"a": "1", "b": "2"}),
			Record: func(m *Mutator) { m.RemoveEntry("a") }, Want: having(map[string]string{"b": "2"}),
		},
		{Why: "RemoveEntry does nothing if there is no entry", Start: having(nil), Record: func(m *Mutator) { m.RemoveEntry("a") }, Want: having(nil)},
		{
			Why: "MergeYAML merges maps", Start: having(map[string]string{"a": "log:\n  level: info\n  colour: true\n"}),
			Record: func(m *Mutator) { m.MergeYAML("a", "log: {level: debug}") }, Want: having(map[string]string{"a": "log:\n  level: debug\n  colour: true\n"}),
		},
		{Why: "MergeYAML adds an entry", Start: having(nil), Record: func(m *Mutator) { m.MergeYAML("a", "log: {level: debug}") }, Want: having(map[string]string{"a": "log: {level: debug}"})},
		{Why: "MergeYAML needs YAML", Start: having(nil), Record: func(m *Mutator) { m.MergeYAML("a", "{") }, Says: []string{"data: ", `"a"`, "the patch is not"}},
		{Why: "the last edit of a key wins", Start: having(nil), Record: func(m *Mutator) { m.SetEntry("a", "1"); m.SetEntry("a", "2") }, Want: having(map[string]string{"a": "2"})},
	})
}

func TestDataHash(t *testing.T) {
	t.Parallel()
	hash := func(configmap *corev1.ConfigMap) string {
		t.Helper()
		got, err := DataHash(configmap)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	base := hash(&corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "2"}})
	for _, row := range []struct {
		why   string
		given *corev1.ConfigMap
		same  bool
	}{
		{"metadata do not count", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Immutable: new(true), Data: map[string]string{"b": "2", "a": "1"}}, true},
		{"pods do not see which field an entry is in", &corev1.ConfigMap{Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": []byte("2")}}, true},
		{"a value counts", &corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "3"}}, false},
		{"a key counts", &corev1.ConfigMap{Data: map[string]string{"a": "1", "c": "2"}}, false},
		{"a value cannot be taken for another entry", &corev1.ConfigMap{Data: map[string]string{"a": "1b2"}}, false},
		{"no data", &corev1.ConfigMap{}, false},
	} {
		if got := hash(row.given); (got == base) != row.same {
			t.Errorf("%s: the hash is %s, compared with %s", row.why, got, base)
		}
	}
	// Pods are replaced when the hash changes, so it must be the same in all versions of this package.
	if diff := cmp.Diff("b8b6d9c85cc37db860f808ab6251044ae69d6f674f59bf645e0c09c1c315898d", base); diff != "" {
		t.Errorf("unexpected hash (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hash(&corev1.ConfigMap{}), hash(&corev1.ConfigMap{Data: map[string]string{}, BinaryData: map[string][]byte{}})); diff != "" {
		t.Errorf("no entries and empty fields are different (-want +got):\n%s", diff)
	}

	_, err := DataHash(nil)
	resourcestest.ExpectError(t, err, "must not be nil")
	_, err = DataHash(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}, Data: map[string]string{"a": ""}, BinaryData: map[string][]byte{"a": nil}})
	resourcestest.ExpectError(t, err, "default/sample", `"a"`, "data and binaryData")
}

func TestDesiredHash(t *testing.T) {
	t.Parallel()
	set := func(name, value string, gate feature.Gate) Mutation {
		return Mutation{Name: name, Feature: gate, Mutate: func(m *Mutator) error { m.SetEntry("a", value); return nil }}
	}
	object := sample()
	object.Data = map[string]string{"b": "2"}
	resource, err := NewBuilder(object).WithMutation(set("on", "1", nil), set("off", "3", feature.NewBooleanGate(false))).Build()
	if err != nil {
		t.Fatal(err)
	}
	want, err := DataHash(&corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "2"}})
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

	contradictory, err := NewBuilder(object).WithMutation(set("first", "1", nil), set("second", "3", nil)).Build()
	if err != nil {
		t.Fatal(err)
	}
	_, err = DesiredHash(contradictory)
	resourcestest.ExpectError(t, err, `"first" and "second" both write .data.a`)
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
		{"different keys of one map", base, merge("log: {level: debug}"), merge("log: {colour: off}"), ""},
		{"different keys of a new entry", "", merge("tls: true"), merge("cache: 5"), ""},
		{"different keys of JSON", `{"a": 1}`, merge("tls: true"), merge("cache: 5"), ""},
		{"an entry, and then a key", "", set("tls: true\n"), merge("cache: 5"), ""},
		{"equal values", base, merge("tls: true"), merge("tls: true"), ""},
		{"equal values with quotes", base, merge("tls: x"), set(`tls: "x"`), ""},
		{"a list that gets longer", base, merge("hosts: [a, b]"), merge("hosts: [a, b, c]"), ""},
		{"different values", base, merge("tls: true"), merge("tls: off"), `mutations "first" and "second" both write .data["app.yaml"].tls: true, then off`},
		{"a number and its text", base, merge("port: 80"), merge("port: '80'"), `both write .data["app.yaml"].port: 80, then "80"`},
		{"a key with dots", base, merge("log: {a.b: 1}"), merge("log: {a.b: 2}"), `both write .data["app.yaml"].log["a.b"]: 1, then 2`},
		{"a text and a map", base, merge("tls: true"), merge("tls: {cert: x}"), `both write .data["app.yaml"].tls: true, then map[cert:x]`},
		{"a map and a text", base, merge("tls: {cert: x}"), merge("tls: true"), `both write .data["app.yaml"].tls.cert: x, then removed`},
		{"an entry of another form", base, merge("tls: true"), set("hello"), `both write .data["app.yaml"].tls: true, then removed`},
		{"an entry that is removed", base, merge("tls: true"), func(m *Mutator) { m.RemoveEntry("app.yaml") }, `both write .data["app.yaml"].tls: true, then removed`},
		{"texts", "", set("one\ntwo"), set("three"), `both write .data["app.yaml"]: "one\ntwo", then three`},
		{"a text and a document", "", set("one"), merge("a: 1"), `both write .data["app.yaml"]: one, then a: 1`},
	} {
		object := sample()
		if row.base != "" {
			object.Data = map[string]string{"app.yaml": row.base}
		}
		mutation := func(name string, mutate func(*Mutator)) Mutation {
			return Mutation{Name: name, Mutate: func(m *Mutator) error { mutate(m); return nil }}
		}
		resource, err := NewBuilder(object).WithMutation(mutation("first", row.first), mutation("second", row.second)).WithConflictCheck().Build()
		if err != nil {
			t.Fatal(err)
		}
		_, previewed := resource.PreviewObject()
		for _, err := range []error{previewed, resource.Mutate(sample())} {
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasSuffix(err.Error(), row.want) && !strings.Contains(err.Error(), row.want+":")) {
				t.Errorf("%s: got %v, want %q", row.why, err, row.want)
			}
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
	resourcestest.ExpectError(t, err, "v1/ConfigMap/default/sample", "read-only", "WithData")
	_, err = DesiredHash(nil)
	resourcestest.ExpectError(t, err, "hashing a ConfigMap", "must not be nil")
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "v1/ConfigMap/default/sample")
}
