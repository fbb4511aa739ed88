// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

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
		{"x", "1", false},
		{"1", "x", false},
		{"18446744073709551615", "18446744073709551616", true},
	} {
		if got := Older(tc.version, tc.than); got != tc.want {
			t.Errorf("%q and %q: got %v", tc.version, tc.than, got)
		}
	}
}
