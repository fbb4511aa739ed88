// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Without the other's lines a difference is one of the objects, and none is smaller.
func TestCompare(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	lines := func(different int) []line {
		lines := make([]line, random.IntN(12))
		for i := range lines {
			lines[i].text = strconv.Itoa(random.IntN(different))
		}
		return lines
	}
	for range 3000 {
		different := 1 + random.IntN(15)
		before, after := lines(different), lines(different)
		var was, is []line
		common := 0
		for _, edit := range compare(before, after) {
			if edit.operation != diffmatchpatch.DiffInsert {
				was = append(was, edit.line)
			}
			if edit.operation != diffmatchpatch.DiffDelete {
				is = append(is, edit.line)
			}
			if edit.operation == diffmatchpatch.DiffEqual {
				common++
			}
		}
		if !slices.Equal(was, before) || !slices.Equal(is, after) || common != longest(before, after) {
			t.Fatalf("of %v and %v it makes %v and %v, with %d lines in common", before, after, was, is, common)
		}
	}
}

// longest returns how many lines two objects have in common, in the same order, by trying everything.
func longest(a, b []line) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if row[j+1] = max(above, row[j]); a[i].text == b[j].text {
				row[j+1] = diagonal + 1
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
