// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzValues compares the values that templates see with what Helm makes of the same values in a values file.
func TestValuesDoNotGrow(t *testing.T) {
	t.Parallel()
	read := func(string) ([]byte, error) { return []byte(bomb(1<<10, 100)), nil }
	_, err := MergeValues(ValuesInput{Files: []string{"a.yaml"}, Read: read})
	if want := "parsing values a.yaml: with its aliases replaced, it has more than"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want an error with %q, got %v", want, err)
	}
}

func TestDocumentsOfValuesFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, content, want, problem string }{
		{"documents are merged", "a: {b: 1, c: 2}\n---\n# more\na: {c: 3, d: null}\ne: [1]\n", `{"a":{"b":1,"c":3,"d":null},"e":[1]}`, ""},
		{"documents without content", "---\n---\na: b\n--- # nothing\n", `{"a":"b"}`, ""},
		{"a second value in a document", "{a: b}\n\n{c: d}\n", "", "line 3: another value begins here"},
		{"a document that is not a map", "a: b\n---\n[c]\n", "", "cannot unmarshal array"},
	} {
		got, err := MergeValues(ValuesInput{Files: []string{"v.yaml"}, Read: func(string) ([]byte, error) { return []byte(test.content), nil }})
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), "parsing values v.yaml: ") || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%s: want an error with %q, got %v", test.reason, test.problem, err)
			}
			continue
		}
		if encoded, _ := json.Marshal(got); err != nil || string(encoded) != test.want {
			t.Errorf("%s: want %s, got %s, %v", test.reason, test.want, encoded, err)
		}
	}
}
