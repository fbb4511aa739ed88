// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tables about Overlay are those of its only user, the editor of ConfigMaps.

func parse(tb testing.TB, text string) *Document {
	tb.Helper()
	document, err := Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return document
}

func TestLeaves(t *testing.T) {
	t.Parallel()
	document := parse(t, "a: {b: 1, c: [x, {y: on}], d: {}}\ne: &z ~\nf: *z\n\"1\": \"1\"\ng: !t 2\nh: 'x'\ni: 'no'\n")
	got := map[string]any{}
	for _, path := range document.Leaves() {
		value, exists := document.Value(path)
		if !exists {
			t.Errorf("there is no value at %v", path)
		}
		got[strings.Join(path, ".")] = value
	}
	want := map[string]any{
		"a.b": "1", "a.c": []any{"x", map[string]any{"y": "on"}}, "a.d": map[string]any{}, "e": "null", "f": "*z", "1": `"1"`, "g": "!t 2", "h": "x", "i": `"no"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected values (-want +got):\n%s", diff)
	}
	for _, path := range [][]string{{"x"}, {"a", "x"}, {"a", "b", "x"}} {
		if value, exists := document.Value(path); exists {
			t.Errorf("unexpected value %v at %v", value, path)
		}
	}
	for text, isMap := range map[string]bool{"": false, "# x": false, "{}": false, "[a]": false, "a": false, "a: 1": true} {
		if document := parse(t, text); document.IsMap() != isMap || len(document.Leaves()) > 0 != isMap {
			t.Errorf("%q: unexpected leaves %v", text, document.Leaves())
		}
	}
}

// FuzzOverlay: what is laid over a document is in the result, and nothing else changes; doing it again changes nothing.
func FuzzOverlay(f *testing.F) {
	for _, under := range []string{
		"a:\n  b: 1\n\n  # x\n  c: |+\n    text\n\n# end\n", "on: yes\nv: 1.10\n", "{a: {b: 1}}", `{"a": {"b": 1}}`, "%YAML 1.1\n---\na: &x [1]\nb: *x\n", "a: !t\n  <<: {b: 1}\n",
		"? a\n: b: >-\n    x\n    y\n", "", "- a", "a: 1\r\n", "a: 'x\n\n  y'\n...\n", "\ufeffa: 1\nb:\n- c: 1\n  d: 2",
	} {
		for _, over := range []string{"a: {b: 2, c: {d: off}}\n", "a: 012\nz:\n- x: |\n    y\n", "{\"a\": null}", "# x", "b: x"} {
			f.Add(under, over)
		}
	}
	f.Fuzz(func(t *testing.T, below, above string) {
		under, err := Parse(below)
		if err != nil {
			return
		}
		over, err := Parse(above)
		if err != nil || over.CheckOverlay() != nil {
			return
		}
		text, err := under.Overlay(over)
		if err != nil {
			return
		}
		merged := parse(t, text)
		if json.Valid([]byte(below)) && under.IsMap() && over.IsMap() && !json.Valid([]byte(text)) {
			t.Errorf("%q was JSON, %q is not", below, text)
		}
		if over.IsMap() {
			checkValues(t, over, merged, nil)
			if under.IsMap() {
				checkValues(t, under, merged, over)
			}
		}
		if again, err := merged.Overlay(over); err != nil || again != text {
			t.Errorf("%q became %q, %v", text, again, err)
		}
	})
}

// checkValues checks that values of a document are in another one, unless a third one has the key or a key above or below.
func checkValues(t *testing.T, document, in, unless *Document) {
	t.Helper()
	for _, path := range document.Leaves() {
		want, _ := document.Value(path)
		if values, ok := want.(map[string]any); ok && len(values) == 0 || unless != nil && isWritten(unless, path) {
			continue
		}
		if got, exists := in.Value(path); !exists || !reflect.DeepEqual(want, got) {
			t.Errorf("%v was %v, is %v: %q", path, want, got, in.text)
		}
	}
}

func isWritten(by *Document, path []string) bool {
	for i := 1; i <= len(path); i++ {
		value, exists := by.Value(path[:i])
		if _, isMap := value.(map[string]any); exists && (!isMap || i == len(path)) {
			return true
		}
	}
	return false
}
