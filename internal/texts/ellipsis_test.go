// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package texts

import "testing"

func TestTruncate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, text, want string }{
		{"it is empty", "", ""},
		{"it fits", "12345678", "12345678"},
		{"it is longer", "123456789", "12345…"},
		{"a character is at the border", "1234äää", "1234…"},
		{"a character ends at the border", "123ääää", "123ä…"},
		{"it is not valid", "a\xff\xfeb", "a?b"},
		{"it is not valid at the border", "1234\xff56789", "1234?…"},
	} {
		if got := Truncate(test.text, 8); got != test.want {
			t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
		}
	}
}
