// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// What is shown is YAML that means the same, as long as it is printable.
func TestRenderIsYAML(t *testing.T) {
	t.Parallel()
	cases := map[string]any{
		"a text":                                "one\ntwo\n",
		"a text without a last line break":      "one\ntwo",
		"a text with more line breaks":          "\n\none\n\n  two\n\n\n",
		"a text that is indented":               "  one\ntwo",
		"a text that is indented after a while": "\n  one\ntwo\n",
		"a text with tabs and blanks":           "\tone  \n \n\ttwo\t\n",
		"only line breaks":                      "\n\n",
		"what could be something else":          []any{"yes", "1", "1.0", "null", "~", "", "- a", "# no", "a: b", "*x", "&x", "{}", " x ", "0x10", "2026-01-01", "|", "%a", "@a", "`a`", "'", `"`, `\n`},
		"a long line":                           strings.Repeat("many words ", 100),
		"numbers and such":                      []any{int64(1), 1.5, 1e30, true, false, nil},
		"nothing":                               map[string]any{"list": []any{}, "map": map[string]any{}, "nil": nil},
		"lists in lists":                        []any{[]any{"a", []any{"b"}}, []any{}, map[string]any{}, map[string]any{"x": []any{"y"}, "z": "q"}},
		"texts in lists":                        []any{"a\nb", "  a\nb\n", map[string]any{"k": " a\nb\n\n"}, []any{"a\nb"}},
		"keys":                                  map[string]any{"true": "a", "1": "b", "a: b": "c", "": "d", "x/y.z": "e"},
		"letters":                               "Größe 映像 \u00a0 é",
	}
	for reason, value := range cases {
		object := map[string]any{"a": value, "b": map[string]any{"c": value, "d": []any{value}}}
		var text string
		for _, line := range render(object) {
			text += line.text + "\n"
		}
		var parsed map[string]any
		if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
			t.Errorf("%s: %v\n%s", reason, err, text)
			continue
		}
		canonical, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := yaml.Unmarshal(canonical, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, parsed); diff != "" {
			t.Errorf("%s: (-want +got)\n%s\n%s", reason, diff, text)
		}
	}
}
