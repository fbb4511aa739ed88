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
			"a: {b: {c: 1, d: 2}, e: 3}", "a: {b: {d: 4, f: 5}}", "a:\n  b:\n    c: 1\n    d: 4\n    f: 5\n  e: 3\n",
		},
		"lists are replaced":                          {"a: [1, 2]", "a: [3]", "a:\n- 3\n"},
		"a map replaces a text":                       {"a: x", "a: {b: 1}", "a:\n  b: 1\n"},
		"a text replaces a map":                       {"a: {b: 1}", "a: x", "a: x\n"},
		"null is a value":                             {"a: 1\nb: 2", "a: null", "a: null\nb: 2\n"},
		"a list replaces the whole entry":             {"a: 1", "[b]", "- b\n"},
		"a map replaces the whole entry":              {"[b]", "a: 1", "a: 1\n"},
		"a missing entry becomes the patch":           {"", "b: 1\na: {c: 2}", "a:\n  c: 2\nb: 1\n"},
		"an entry with only a comment is empty":       {"# nothing", "a: 1", "a: 1\n"},
		"a patch with only a comment changes nothing": {"b: 1 # x\na: 2", "# nothing", "b: 1 # x\na: 2"},
		"a patch that is null changes nothing":        {"b: 1", "null", "b: 1"},
		"large numbers keep their digits":             {"a: 9007199254740993", "b: 1000000", "a: 9007199254740993\nb: 1000000\n"},
		"texts that look like something else stay":    {`a: "yes"`, `b: "1"`, "a: \"yes\"\nb: \"1\"\n"},
		"JSON is YAML":                                {`{"a": {"b": 1}}`, `{"a": {"c": "<x>"}}`, "a:\n  b: 1\n  c: <x>\n"},
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
		"an entry with two documents":   {"a: 1\n---\nb: 2", "a: 1", []string{`"x"`, "the entry is not one valid"}},
		"a patch with two documents":    {"a: 1", "a: 1\n---\nb: 2", []string{`"x"`, "the patch is not one valid"}},
		"a patch with a key twice":      {"a: 1", "b: 1\nb: 2", []string{`"x"`, "the patch is not"}},
		"an invalid entry and no patch": {"a: [", "", []string{`"x"`, "the entry is not"}},
		"a number that YAML alone has":  {"a: 1", "a: .nan", []string{`"x"`, "the patch is not"}},
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

func TestSecretDataEditor(t *testing.T) {
	t.Parallel()
	type entries = map[string][]byte
	type texts = map[string]string
	check(t, editors.NewSecretDataEditor, map[string]row[corev1.Secret, *editors.SecretDataEditor]{
		"missing maps are created": {
			edit: func(e *editors.SecretDataEditor) { e.Set("a", []byte{1}); e.SetString("b", "2") },
			want: corev1.Secret{Data: entries{"a": {1}}, StringData: texts{"b": "2"}},
		},
		"entries are replaced": {
			start: corev1.Secret{Data: entries{"a": {1}}, StringData: texts{"b": "2"}},
			edit:  func(e *editors.SecretDataEditor) { e.Set("a", []byte{3}); e.SetString("b", "4") },
			want:  corev1.Secret{Data: entries{"a": {3}}, StringData: texts{"b": "4"}},
		},
		"data replace a text with the key, which the API server would prefer": {
			start: corev1.Secret{StringData: texts{"a": "1"}},
			edit:  func(e *editors.SecretDataEditor) { e.Set("a", []byte{1}) },
			want:  corev1.Secret{Data: entries{"a": {1}}, StringData: texts{}},
		},
		"a text replaces data with the key": {
			start: corev1.Secret{Data: entries{"a": {1}}},
			edit:  func(e *editors.SecretDataEditor) { e.SetString("a", "1") },
			want:  corev1.Secret{Data: entries{}, StringData: texts{"a": "1"}},
		},
		"nil is an empty entry": {
			edit: func(e *editors.SecretDataEditor) { e.Set("a", nil) },
			want: corev1.Secret{Data: entries{"a": {}}},
		},
		"entries are removed from their own map": {
			start: corev1.Secret{Data: entries{"a": {1}, "b": {1}}, StringData: texts{"c": "1", "d": "1"}},
			edit: func(e *editors.SecretDataEditor) {
				e.Remove("a")
				e.Remove("c")
				e.RemoveString("b")
				e.RemoveString("d")
			},
			want: corev1.Secret{Data: entries{"b": {1}}, StringData: texts{"c": "1"}},
		},
		"nothing is removed from nothing": {edit: func(e *editors.SecretDataEditor) { e.Remove("a"); e.RemoveString("a") }},
		"Raw is the map itself, even if it was missing": {
			edit: func(e *editors.SecretDataEditor) { e.Raw()["a"] = []byte{1}; e.RawStringData()["b"] = "2" },
			want: corev1.Secret{Data: entries{"a": {1}}, StringData: texts{"b": "2"}},
		},
	})
}
