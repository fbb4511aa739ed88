// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resourceversions

import "testing"

func TestOlder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		version, than string
		want          bool
	}{
		{"9", "10", true},
		{"10", "9", false},
		{"10", "10", false},
		{"", "10", false},
		{"10", "", false},
		{"a", "b", false},
		{"9223372036854775807", "9223372036854775808", true},
	} {
		if got := Older(tc.version, tc.than); got != tc.want {
			t.Errorf("%q and %q: got %v", tc.version, tc.than, got)
		}
	}
}
