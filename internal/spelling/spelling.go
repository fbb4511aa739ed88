// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package spelling

// Nearest returns the candidate that a misspelt word most likely stands for: at most two characters are wrong, and no more than a third of them; empty if there is none. The first
// of several wins.
func Nearest(word string, candidates []string) string {
	best, least := "", min(2, len(word)/3)+1
	for _, candidate := range candidates {
		if d := Distance(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// Distance returns how many characters have to be inserted, deleted, replaced, or exchanged with the next one, to make one text of the other (optimal string
// alignment).
func Distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
