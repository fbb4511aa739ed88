// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"testing"
)

func TestSecondValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, text              string
		decode, single, separated int // line of the second value; 0 if there is none
	}{
		{"a map after a map", "{a: b}\n{c: d}\n", 2, 2, 2},
		{"JSON behind a byte order mark", "\ufeff{\"a\": 1}\n\n{\"b\": 2}\n", 3, 3, 3},
		{"a list after a list", "[a]\n# comment\n[b]\n", 3, 3, 3},
		{"maps of several lines", "{\n  a: b\n}\n{\n  c: d\n}\n", 4, 4, 4},
		{"a document that is ended, but not separated", "a: b\n...\nc: d\n", 3, 3, 3},
		{"separated documents", "a: b\n---\nc: d\n", 3, 3, 0},
		{"a separated document without content", "a: b\n---\n# nothing\n", 0, 0, 0},
		{"a map after a map in the second document", "a: b\n---\n{c: d}\n{e: f}\n", 3, 3, 4},
		{"text after a map", "{a: b}\ntext\n", 2, 2, 2},
		{"text in a map", "a: |\n  {a: b}\n  {c: d}\n", 0, 0, 0},
	} {
		_, err := Decode([]byte(test.text))
		for name, got := range map[string]struct {
			err  error
			want int
		}{
			"Decode":         {err, test.decode},
			"CheckSingle":    {CheckSingle([]byte(test.text)), test.single},
			"CheckSeparated": {CheckSeparated([]byte(test.text)), test.separated},
		} {
			var second *SecondValueError
			if !errors.As(got.err, &second) {
				second = &SecondValueError{}
			}
			if second.Line != got.want {
				t.Errorf("%s: %s: expected line %d, got %v", test.reason, name, got.want, got.err)
			}
		}
	}
}
