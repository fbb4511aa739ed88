// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDistance(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"", "abc"}: 3, {"abc", ""}: 3, {"abc", "abc"}: 0, {"abc", "acb"}: 1, {"abc", "abd"}: 1, {"abc", "ab"}: 1, {"kitten", "sitting"}: 3, {"ca", "abc"}: 3,
	} {
		if got := Distance(pair[0], pair[1]); got != want {
			t.Errorf("%q: got %d, want %d", pair, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	candidates := []string{"apply", "delete", "ls", "values"}
	for word, want := range map[string]string{"aply": "apply", "delte": "delete", "valeus": "values", "rm": "", "l": "", "": "", "applause": "", "ls": "ls"} {
		if got := Nearest(word, candidates); got != want {
			t.Errorf("%s: want %q, got %q", word, want, got)
		}
	}
}
