// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import "testing"

func TestSameRecord(t *testing.T) {
	t.Parallel()
	record := map[string]any{"checksum": "a", "previousNamespace": "x"}
	for _, test := range []struct {
		reason string
		other  any
		want   bool
	}{
		{"it is the same", map[string]any{"checksum": "a", "previousNamespace": "x"}, true},
		{"an older definition drops where chunks were", map[string]any{"checksum": "a"}, true},
		{"the content is another one", map[string]any{"checksum": "b", "previousNamespace": "x"}, false},
		{"an even older definition drops all of it", nil, false},
	} {
		if got := sameRecord(test.other, record); got != test.want {
			t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
		}
	}
	if record["previousNamespace"] != "x" {
		t.Error("want the record not to be changed")
	}
}
