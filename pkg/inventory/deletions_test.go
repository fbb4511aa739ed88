// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"strings"
	"testing"
)

func TestMaxDeletions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		limit      MaxDeletions
		dependents int
		want       int
	}{
		{"", 7, 7},
		{"0", 7, 0},
		{"5", 7, 5},
		{"12", 7, 12},
		{"0%", 7, 0},
		{"25%", 7, 1},
		{"25%", 3, 0},
		{"100%", 7, 7},
		{"50%", 0, 0},
		{MaxDeletionsAllButOne, 7, 6},
		{MaxDeletionsAllButOne, 1, 0},
		{MaxDeletionsAllButOne, 0, 0},
		{"2147483647", 7, 2147483647},
	} {
		if got, err := tc.limit.Of(tc.dependents); err != nil || got != tc.want {
			t.Errorf("%q of %d: got %d, %v, want %d", tc.limit, tc.dependents, got, err, tc.want)
		}
	}
	for _, bad := range []MaxDeletions{"-1", "+1", "five", "101%", "-1%", "%", "1.5", "5 %", " 5", "all", "2147483648", "0x5"} {
		err := bad.Validate()
		if err == nil {
			t.Errorf("%q was accepted", bad)
			continue
		}
		for _, want := range []string{`"` + string(bad) + `"`, "a number of at least 0", "0% to 100%", "AllButOne"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: expected %q in %q", bad, want, err)
			}
		}
	}
}
