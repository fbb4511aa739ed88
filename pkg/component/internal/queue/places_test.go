// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"strings"
	"testing"
)

// TestPlaces plays visits of targets. A step has a target, what happens, and whether there is a place for it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		workers int
		steps   []string
	}{
		{"half of the workers visit unknown targets", 5, []string{"a enters ok", "b enters ok", "c enters no", "a leaves", "c enters ok"}},
		{"there is at least one place", 1, []string{"a enters ok", "b enters no", "a leaves", "b enters ok"}},
		{"quick targets need no place", 2, []string{"a enters ok", "a leaves", "b enters ok", "a enters ok"}},
		{"a target that was slow is expected to be slow", 2, []string{"a enters ok", "a leaves slow", "b enters ok", "a enters no"}},
	} {
		places, visits := NewPlaces(test.workers, 0), map[string]func(slow bool){}
		for i, step := range test.steps {
			fields := strings.Fields(step)
			target, last := fields[0], fields[len(fields)-1]
			if fields[1] == "leaves" {
				visits[target](last == "slow")
				continue
			}
			leave, ok := places.enter(target)
			visits[target] = leave
			if ok != (last == "ok") {
				t.Errorf("%s: step %d: %s: got %t", test.reason, i, step, ok)
			}
		}
	}
}
