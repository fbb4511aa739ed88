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
		{"a target that gets slow takes a place", 2, []string{"a enters ok", "a leaves", "a enters ok", "a slows ok", "a slows ok", "b enters no"}},
		{"a target that gets slow needs a place", 2, []string{"a enters ok", "a leaves", "b enters ok", "a enters ok", "a slows no"}},
		{"a target that was slow is expected to be slow", 2, []string{"a enters ok", "a slows ok", "a leaves", "b enters ok", "a enters no"}},
		{"a visit that is over changes nothing", 2, []string{"a enters ok", "a leaves", "a slows ok", "b enters ok", "a enters ok"}},
	} {
		places, visits := NewPlaces(test.workers, 0), map[string]*visit{}
		for i, step := range test.steps {
			fields := strings.Fields(step)
			target, ok := fields[0], true
			switch fields[1] {
			case "enters":
				visits[target] = places.enter(target)
				ok = visits[target] != nil
			case "slows":
				ok = visits[target].slowed()
			case "leaves":
				visits[target].leave()
			}
			if len(fields) > 2 && ok != (fields[2] == "ok") {
				t.Errorf("%s: step %d: %s: got %t", test.reason, i, step, ok)
			}
		}
	}
}
