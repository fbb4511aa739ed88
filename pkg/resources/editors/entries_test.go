// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

func TestConfigMapDataEditor(t *testing.T) {
	t.Parallel()
	type entries = map[string]string
	type binaries = map[string][]byte
	check(t, editors.NewConfigMapDataEditor, map[string]row[corev1.ConfigMap, *editors.ConfigMapDataEditor]{
		"missing maps are created": {
			edit: func(e *editors.ConfigMapDataEditor) { e.Set("a", "1"); e.SetBinary("b", []byte{2}) },
			want: corev1.ConfigMap{Data: entries{"a": "1"}, BinaryData: binaries{"b": {2}}},
		},
		"entries are replaced": {
			start: corev1.ConfigMap{Data: entries{"a": "1"}, BinaryData: binaries{"b": {2}}},
			edit:  func(e *editors.ConfigMapDataEditor) { e.Set("a", "3"); e.SetBinary("b", []byte{4}) },
			want:  corev1.ConfigMap{Data: entries{"a": "3"}, BinaryData: binaries{"b": {4}}},
		},
		"a text replaces binary data with the key": {
			start: corev1.ConfigMap{BinaryData: binaries{"a": {1}}},
			edit:  func(e *editors.ConfigMapDataEditor) { e.Set("a", "1") },
			want:  corev1.ConfigMap{Data: entries{"a": "1"}, BinaryData: binaries{}},
		},
		"binary data replace a text with the key": {
			start: corev1.ConfigMap{Data: entries{"a": "1"}},
			edit:  func(e *editors.ConfigMapDataEditor) { e.SetBinary("a", []byte{1}) },
			want:  corev1.ConfigMap{Data: entries{}, BinaryData: binaries{"a": {1}}},
		},
		"nil is an empty entry": {
			edit: func(e *editors.ConfigMapDataEditor) { e.SetBinary("a", nil) },
			want: corev1.ConfigMap{BinaryData: binaries{"a": {}}},
		},
		"entries are removed from their own map": {
			start: corev1.ConfigMap{Data: entries{"a": "1", "b": "1"}, BinaryData: binaries{"c": {1}, "d": {1}}},
			edit: func(e *editors.ConfigMapDataEditor) {
				e.Remove("a")
				e.Remove("c")
				e.RemoveBinary("b")
				e.RemoveBinary("d")
			},
			want: corev1.ConfigMap{Data: entries{"b": "1"}, BinaryData: binaries{"c": {1}}},
		},
		"nothing is removed from nothing": {edit: func(e *editors.ConfigMapDataEditor) { e.Remove("a"); e.RemoveBinary("a") }},
		"Raw is the map itself, even if it was missing": {
			edit: func(e *editors.ConfigMapDataEditor) { e.Raw()["a"] = "1"; e.RawBinary()["b"] = []byte{2} },
			want: corev1.ConfigMap{Data: entries{"a": "1"}, BinaryData: binaries{"b": {2}}},
		},
	})
}

func TestConfigMapDataEditorMergesYAML(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct{ entry, patch, want string }{
		"maps are merged at all depths": {
			"a:\n  b:\n    c: 1\n    d: 2\n  e: 3\n", "a: {b: {d: 4, f: 5}}", "a:\n  b:\n    c: 1\n    d: 4\n    f: 5\n  e: 3\n",
		},
		"lists are replaced":                          {"a: [1, 2]", "a: [3]", "a: [3]\n"},
		"a map replaces a text":                       {"a: x", "a: {b: 1}", "a: {b: 1}\n"},
		"a text replaces a map":                       {"a: {b: 1}", "a: x", "a: x\n"},
		"null is a value":                             {"a: 1\nb: 2", "a: null", "a: null\nb: 2\n"},
		"a list replaces the whole entry":             {"a: 1", "[b]", "[b]"},
		"a map replaces the whole entry":              {"[b]", "a: 1", "a: 1"},
		"a map replaces a text that is the entry":     {"off", "a: 1", "a: 1"},
		"a missing entry becomes the patch":           {"", "b: 1\na: {c: 2}", "b: 1\na: {c: 2}"},
		"an entry with only a comment is empty":       {"# nothing", "a: 1", "a: 1"},
		"an entry that is null is empty":              {"~", "a: 1", "a: 1"},
		"a patch with only a comment changes nothing": {"b: 1 # x\na: 2", "# nothing", "b: 1 # x\na: 2"},
		"a patch that is null changes nothing":        {"b: 1", "null", "b: 1"},
		"values that are there already":               {"a: x # y\nb:   {c: yes}\n\n", `{"a": "x", "b": {"c": yes}}`, "a: x # y\nb:   {c: yes}\n\n"},
		"keys that YAML 1.1 takes for booleans":       {"a:\n  b: 1\nn: off\n", "y: 2", "a:\n  b: 1\nn: off\ny: 2\n"},
		"values keep their text": {
			"on: yes\nv: 1.10\nport: 012\nbig: 12345678901234567890\nday: 2026-01-02\nat: 1:20\n", "a: 0o17\nb: .nan",
			"on: yes\nv: 1.10\nport: 012\nbig: 12345678901234567890\nday: 2026-01-02\nat: 1:20\na: 0o17\nb: .nan\n",
		},
		"keys are the same if their texts are": {"\"on\": 1\n2: a\n", "on: 3\n\"2\": b", "\"on\": 3\n2: b\n"},
		"quotes make a text of a boolean":      {"a: yes\n", "a: 'yes'", "a: 'yes'\n"},
		"comments, order and notation stay": {
			"# head\n---\n# about a\na: 1   # one\n\nb:   [x,  y]\nc: |+\n  # text\n\n# tail\n", "a: 2\nd: {e: f}",
			"# head\n---\n# about a\na: 2 # one\nb: [x, y]\nc: |+\n  # text\n\nd: {e: f}\n\n# tail\n",
		},
		"new keys come before the last comment": {"a:\n  b: 1\n\n# tail\n", "a: {c: 1}\nd: 1", "a:\n  b: 1\n  c: 1\nd: 1\n\n# tail\n"},
		"comments between keys": {
			"a:\n  # about b\n  b: |\n    1\n  # foot\n\n# about c\nc: 1\n", "a: {b: 2}", "a:\n  # about b\n  b: 2\n  # foot\n# about c\nc: 1\n",
		},
		"a text without a line end stays so": {"a: |\n  x\n  y", "b: 1", "a: |-\n  x\n  y\nb: 1\n"},
		"braces stay, without comments":      {"a: {b: 1} # x", "a:\n  # y\n  c:\n  - off # z\n", "a: {b: 1, c: [off]} # x\n"},
		"keys without a line of their own":   {"? a\n: 1\n? b\n: c: 1\n", "b: {c: 2}", "a: 1\nb:\n  c: 2\n"},
		"tags stay":                          {"a: !x {b: !!str 1}\nc: 1\n", "a: {d: 2}", "a: !x {b: !!str 1, d: 2}\nc: 1\n"},
		"aliases that do not change stay":    {"a: &x {b: 1}\nc: *x\nd: 1\n", "d: 2", "a: &x {b: 1}\nc: *x\nd: 2\n"},
		"a text replaces an alias":           {"a: &x {b: 1}\nc: *x\n", "c: off", "a: &x {b: 1}\nc: off\n"},
		"beside a merge key": {
			"a: &x\n  b: 1\nc:\n  <<: *x\n  d: {e: 1}\n", "c: {b: 2, d: {f: 3}}", "a: &x\n  b: 1\nc:\n  <<: *x\n  d: {e: 1, f: 3}\n  b: 2\n",
		},
		"JSON stays JSON":             {`{"a": {"b": 1}}`, `{"a": {"c": "<x>"}}`, `{"a": {"b": 1, "c": "<x>"}}`},
		"JSON gets YAML as JSON":      {`{"a":{"b":1}}`, "a:\n  c: [x, 1.50, ~, 'on']\n", `{"a":{"b":1,"c":["x",1.50,null,"on"]}}`},
		"JSON keeps its indentation":  {"{\n\t\"a\": 12345678901234567890\n}\n", "b: true", "{\n\t\"a\": 12345678901234567890,\n\t\"b\": true\n}\n"},
		"JSON without keys":           {"{}\n", "b: true", "{\"b\": true}\n"},
		"an empty document that ends": {"a: 1\n---\n", "b: 2", "a: 1\nb: 2\n"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			configMap := &corev1.ConfigMap{}
			if tc.entry != "" {
				configMap.Data = map[string]string{"x": tc.entry}
			}
			e := editors.NewConfigMapDataEditor(configMap)
			for range 2 {
				if err := e.MergeYAML("x", tc.patch); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(map[string]string{"x": tc.want}, configMap.Data); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestConfigMapDataEditorRefusesInvalidYAML(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		entry, patch string
		wanted       []string
	}{
		"the entry is invalid":          {"a: [", "a: 1", []string{`"x"`, "the entry is not"}},
		"the patch is invalid":          {"a: 1", "a: [", []string{`"x"`, "the patch is not"}},
		"an entry with two documents":   {"a: 1\n---\nb: 2", "a: 1", []string{`"x"`, "the entry is not a single valid"}},
		"a patch with two documents":    {"a: 1", "a: 1\n---\nb: 2", []string{`"x"`, "the patch is not a single valid"}},
		"a patch with a key twice":      {"a: 1", "b: 1\nb: 2", []string{`"x"`, "the patch is not"}},
		"an invalid entry and no patch": {"a: [", "", []string{`"x"`, "the entry is not"}},
		"an entry with a key twice":     {"on: 1\n'on': 2", "a: 1", []string{`"x"`, "the entry is not", `line 2: key "on" is already set on line 1`}},
		"the line of a second document": {"# x\n---\na: 1\n---\nb: 2", "a: 1", []string{`"x"`, "line 5: another document begins here; must be a single document"}},
		"a key that is a list":          {"[a]: 1", "a: 1", []string{`"x"`, "the entry is not", "line 1: a key is a map, a list or an alias; must be a string"}},
		"a patch with an anchor":        {"a: 1", "b: &x 1", []string{`"x"`, "the patch is not", "line 1: anchors (&), aliases (*) and merge keys (<<) are not allowed here"}},
		"a patch with a merge key":      {"a: 1", "<<: {b: 1}", []string{`"x"`, "the patch is not", "merge keys"}},
		"a map for an alias":            {"a: &x {b: 1}\nc: *x", "c: {d: 1}", []string{`"x"`, "line 2: a map cannot be merged into the alias *x"}},
		"a change of what an alias stands for": {
			"a: &x {b: 1}\nc: *x", "a: {d: 1}", []string{`"x"`, "line 1: the value with the anchor &x cannot be changed, because line 2 has an alias of it"},
		},
		"an alias loses its anchor":     {"a: {b: &x 1}\nc: *x", "a: 1", []string{`"x"`, "the anchor &x cannot be changed"}},
		"a map for what a merge brings": {"a: &x {b: {c: 1}}\nd:\n  <<: *x", "d: {b: {e: 1}}", []string{`"x"`, `line 3: key "b" may come from the merge key (<<)`}},
		"a number that JSON has not":    {`{"a": 1}`, "a: 012", []string{`"x"`, `the entry is JSON, which has no form for 012`}},
		"an old boolean in JSON":        {`{"a": 1}`, "a: off", []string{`"x"`, `JSON, which has no form for off; must be a JSON value, such as true or "off"`}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			configMap := &corev1.ConfigMap{Data: map[string]string{"x": tc.entry}}
			expectError(t, editors.NewConfigMapDataEditor(configMap).MergeYAML("x", tc.patch), tc.wanted...)
			if diff := cmp.Diff(map[string]string{"x": tc.entry}, configMap.Data); diff != "" {
				t.Errorf("the entry has changed: %s", diff)
			}
		})
	}
}
