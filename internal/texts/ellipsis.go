// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"strings"
	"unicode/utf8"
)

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
