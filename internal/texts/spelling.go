// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the candidate that a misspelt word most likely stands for: one character is wrong, or at most two of
// six and more; empty if there is none. Words of less than four characters are too similar. The first of several wins.
func Nearest(word string, candidates []string) string {
	best, least := "", 3
	switch {
	case len(word) < 4:
		least = 1
	case len(word) < 6:
		least = 2
	}
	for _, candidate := range candidates {
		if d := Distance(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// Distance returns how many characters have to be inserted, deleted, replaced, or exchanged with the next one, to make
// one text of the other (optimal string alignment).
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

const ellipsis = "…"

// Truncate returns a text of at most limit bytes. A longer text is cut between two characters and ends with an
// ellipsis. Invalid UTF-8 becomes a question mark. The limit must be greater than 3.
func Truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
