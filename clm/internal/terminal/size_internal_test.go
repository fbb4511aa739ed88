// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import "testing"

func TestUnattended(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "false": false, "0": false, "true": true, "1": true, "woodpecker": true} {
		if got := unattended(value); got != want {
			t.Errorf("CI=%q: got %t", value, got)
		}
	}
}
