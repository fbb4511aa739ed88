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
	})
}

func TestConfigMapDataEditorMergesYAML(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct{ entry, patch, want string }{
		"maps are merged at all depths": {
			"a:\n  b:\n    c: 1\n    d: 2\n  e: 3\n", "a: {b: {d: 4, f: 5}}", "a:\n  b:\n    c: 1\n    d: 4\n    f: 5\n  e: 3\n",
		},
		"lists are replaced":                          {"a: [1, 2]", "a: [3]", "a: [3]\n"},
		"null is a value":                             {"a: 1\nb: 2", "a: null", "a: null\nb: 2\n"},
		"a list replaces the whole entry":             {"a: 1", "[b]", "[b]"},
		"a missing entry becomes the patch":           {"", "b: 1\na: {c: 2}", "b: 1\na: {c: 2}"},
		"an entry with only a comment is empty":       {"# nothing", "a: 1", "a: 1"},
		"a patch with only a comment changes nothing": {"b: 1 # x\na: 2", "# nothing", "b: 1 # x\na: 2"},
		"values that are there already":               {"a: x # y\nb:   {c: yes}\n\n", `{"a": x, "b": {"c": yes}}`, "a: x # y\nb:   {c: yes}\n\n"},
		"values keep their text": {
			"on: yes\nv: 1.10\nport: 012\nbig: 12345678901234567890\nday: 2026-01-02\nat: 1:20\n", "a: 0o17\nb: .nan",
			"on: yes\nv: 1.10\nport: 012\nbig: 12345678901234567890\nday: 2026-01-02\nat: 1:20\na: 0o17\nb: .nan\n",
		},
		"keys are the same if their texts are": {"\"on\": 1\n2: a\n", "on: 3\n\"2\": b", "\"on\": 3\n2: b\n"},
		"quotes make a text of a boolean":      {"a: yes\n", "a: 'yes'", "a: 'yes'\n"},
		"comments, order and notation stay": {
			"# head\n---\n# about a\na: 1   # one\n\nb:   [x,  y]\nc: |+\n  # text\n\n# tail\n", "a: 2\nd: {e: f}",
			"# head\n# about a\na: 2 # one\nb: [x, y]\nc: |+\n  # text\n\nd: {e: f}\n\n# tail\n",
		},
		"braces of a changed map go": {"a: {b: 1} # x", "a:\n  # y\n  c:\n  - off # z\n", "a:\n  b: 1\n  # y\n  c:\n  - off # z\n"},
		"JSON stays JSON":            {`{"a": {"b": 1}}`, "a:\n  c: [x, 1.50, ~, 'on']\n", `{"a":{"b":1,"c":["x",1.5,null,"on"]}}`},
		"JSON keeps its lines":       {"{\n\t\"a\": 1\n}\n", "b: on", "{\n  \"a\": 1,\n  \"b\": true\n}"},
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
		"the entry is invalid":        {"a: [", "a: 1", []string{`"x"`, "the entry is not"}},
		"an entry with two documents": {"a: 1\n---\nb: 2", "a: 1", []string{`"x"`, "the entry is not a single valid", "line 2: another document begins here"}},
		"a patch with a key twice":    {"a: 1", "b: 1\nb: 2", []string{`"x"`, "the patch is not"}},
		"an entry with a key twice":   {"on: 1\n'on': 2", "a: 1", []string{`"x"`, "the entry is not", `key "on" already`}},
		"a patch with an anchor":      {"a: 1", "b: &x 1", []string{`"x"`, "the patch is not", "line 1: anchors (&), aliases (*) and merge keys (<<) are not allowed here"}},
		"a patch with a merge key":    {"a: 1", "<<: {b: 1}", []string{`"x"`, "the patch is not", "merge keys"}},
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
