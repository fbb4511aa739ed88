// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/testenv"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason string
		want   fieldpath.Path
	}{
		{"nothing", nil},
		{"a field", fieldpath.MakePathOrDie("spec")},
		{"fields", fieldpath.MakePathOrDie("spec", "template", "spec")},
		{"an item by key", fieldpath.MakePathOrDie("c", fieldpath.KeyByFields("name", "web"), "image")},
		{"by two keys", fieldpath.MakePathOrDie("ports", fieldpath.KeyByFields("port", 80, "protocol", "TCP"))},
		{"by a key with everything that could confuse", fieldpath.MakePathOrDie("c", fieldpath.KeyByFields("a", `x",]=[.\y`, "b", "=1,2"), "d")},
		{"by index", fieldpath.MakePathOrDie("c", 3, "d", 0)},
		{"by value", fieldpath.MakePathOrDie("finalizers", itemOf("a.b/c]"))},
		{"by a number", fieldpath.MakePathOrDie("n", itemOf(3))},
		{"by a truth", fieldpath.MakePathOrDie("n", fieldpath.KeyByFields("on", true))},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := fieldset.ParsePath(tc.want.String())
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != tc.want.String() || len(got) != len(tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	for _, bad := range []string{"spec", "x.y", ".c[", ".c[name", ".c[name]", `.c[name="a]`, ".c[name=]", ".c[=]", ".c[=x]", ".c[name=x]", `.c[a="1"]b`, ".c[a=1,b]"} {
		if got, err := fieldset.ParsePath(bad); err == nil {
			t.Errorf("%q: expected an error, got %v", bad, got)
		}
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	const before = `{a: {b: {c: 1}, d: 2}, list: [{name: x, v: 1}, {name: w, v: 2}, {name: x, other: 1}], set: [p, q, 3], keyed: [{port: 80}, {port: 81, protocol: UDP}], nothing: null}`
	key := fieldpath.KeyByFields
	for _, tc := range []struct {
		reason string
		paths  []fieldpath.Path
		want   string
	}{
		{"nothing", nil, before},
		{"what does not exist", []fieldpath.Path{
			fieldpath.MakePathOrDie("z"), fieldpath.MakePathOrDie("a", "b", "c", "d"), fieldpath.MakePathOrDie("a", key("name", "x")), fieldpath.MakePathOrDie("list", "name"),
			fieldpath.MakePathOrDie("list", 7), fieldpath.MakePathOrDie("list", -1), fieldpath.MakePathOrDie("nothing", "x"), fieldpath.MakePathOrDie("set", itemOf("z")),
		}, before},
		{"maps that become empty go", []fieldpath.Path{fieldpath.MakePathOrDie("a", "b", "c"), fieldpath.MakePathOrDie("a", "d")}, `{list: [{name: x, v: 1}, {name: w, v: 2}, {name: x, other: 1}], set: [p, q, 3], keyed: [{port: 80}, {port: 81, protocol: UDP}], nothing: null}`},
		{"an item by key, the first one", []fieldpath.Path{fieldpath.MakePathOrDie("list", key("name", "x"))}, `{a: {b: {c: 1}, d: 2}, list: [{name: w, v: 2}, {name: x, other: 1}], set: [p, q, 3], keyed: [{port: 80}, {port: 81, protocol: UDP}], nothing: null}`},
		{"a field of an item", []fieldpath.Path{fieldpath.MakePathOrDie("list", key("name", "w"), "v")}, `{a: {b: {c: 1}, d: 2}, list: [{name: x, v: 1}, {name: w}, {name: x, other: 1}], set: [p, q, 3], keyed: [{port: 80}, {port: 81, protocol: UDP}], nothing: null}`},
		{"values", []fieldpath.Path{fieldpath.MakePathOrDie("set", itemOf("q")), fieldpath.MakePathOrDie("set", itemOf(3))}, `{a: {b: {c: 1}, d: 2}, list: [{name: x, v: 1}, {name: w, v: 2}, {name: x, other: 1}], set: [p], keyed: [{port: 80}, {port: 81, protocol: UDP}], nothing: null}`},
		{"an item with a key that has its default", []fieldpath.Path{fieldpath.MakePathOrDie("keyed", key("port", 80, "protocol", "TCP"))}, `{a: {b: {c: 1}, d: 2}, list: [{name: x, v: 1}, {name: w, v: 2}, {name: x, other: 1}], set: [p, q, 3], keyed: [{port: 81, protocol: UDP}], nothing: null}`},
		{"but not one with another value", []fieldpath.Path{fieldpath.MakePathOrDie("keyed", key("port", 81, "protocol", "TCP"))}, before},
		{"null", []fieldpath.Path{fieldpath.MakePathOrDie("nothing")}, `{a: {b: {c: 1}, d: 2}, list: [{name: x, v: 1}, {name: w, v: 2}, {name: x, other: 1}], set: [p, q, 3], keyed: [{port: 80}, {port: 81, protocol: UDP}]}`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			wrap := func(text string) map[string]any {
				return testenv.Object(t, "{apiVersion: v1, kind: X, o: "+text+"}").Object
			}
			content := wrap(before)
			inner := content["o"].(map[string]any)
			for _, path := range tc.paths {
				if exists := fieldset.Exists(inner, path); exists != (tc.want != before) {
					t.Errorf("%s: exists: %v", path, exists)
				}
			}
			fieldset.Remove(inner, tc.paths, nil)
			if diff := cmp.Diff(wrap(tc.want)["o"], any(inner)); diff != "" {
				t.Errorf("left over (-want +got):\n%s", diff)
			}
		})
	}
}

// itemOf denotes the item of a set.
func itemOf(item any) value.Value { return value.NewValueInterface(item) }
