// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Without the other's lines, a difference is one of the objects.
func TestCompare(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	lines := func(different int) []diffLine {
		lines := make([]diffLine, random.IntN(12))
		for i := range lines {
			lines[i].text = strconv.Itoa(random.IntN(different))
		}
		return lines
	}
	for range 3000 {
		different := 1 + random.IntN(15)
		before, after := lines(different), lines(different)
		var was, is []diffLine
		for _, edit := range compare(before, after) {
			if edit.operation != diffmatchpatch.DiffInsert {
				was = append(was, edit.diffLine)
			}
			if edit.operation != diffmatchpatch.DiffDelete {
				is = append(is, edit.diffLine)
			}
		}
		if !slices.Equal(was, before) || !slices.Equal(is, after) {
			t.Fatalf("of %v and %v it makes %v and %v", before, after, was, is)
		}
	}
}
