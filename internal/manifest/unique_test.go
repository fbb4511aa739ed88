// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeUnique(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, document, err string }{
		{"a key occurs twice", "a: 1\nb: 2\na: 3", `line 3: key "a" is already set on line 1; a key may occur only once in a map`},
		{"deep down", "items:\n- {a: {b: 1, b: 1}}", `line 2: key "b" is already set on line 2; a key may occur only once in a map`},
		{"null is a value, too", "a:\na: 1", `line 2: key "a" is already set on line 1; a key may occur only once in a map`},
		{"in JSON", `{"a": 1, "a": 2}`, `line 1: key "a" is already set on line 1; a key may occur only once in a map`},
		{"two maps have the same key", "a: {c: 1}\nb: {c: 2}", ""},
		{"a merged value is replaced", "a: &a {c: 1}\nb:\n  <<: *a\n  c: 2", ""},
		{"a merged value comes late", "a: &a {c: 1}\nb:\n  c: 2\n  <<: *a", ""},
		{"a key is there in addition to a merge", "a: &a {c: 1}\nb:\n  <<: *a\n  c: 2\n  c: 3", `line 5: key "c" is already set on line 4; a key may occur only once in a map`},
		{"values that do not fit their tag are another mistake", "a: !!int x", "yaml: cannot decode !!str `x` as a !!int"},
	} {
		got, err := DecodeUnique([]byte(test.document))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(test.err, text); diff != "" {
			t.Errorf("%s: unexpected error (-want +got):\n%s", test.reason, diff)
		}
		want, _ := Decode([]byte(test.document))
		if diff := cmp.Diff(want, got); diff != "" && err == nil {
			t.Errorf("%s: unexpected content (-want +got):\n%s", test.reason, diff)
		}
	}
}
