// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// cells measures text that may be painted.
var cells = displaywidth.Options{ControlSequences: true}

// Width returns the number of cells that a line takes; colours take none.
func Width(line string) int { return cells.String(line) }

// Truncate returns a line that takes at most that many cells, and that ends with an ellipsis if something is missing.
// Colours stay in order.
func Truncate(line string, width int) string {
	if width <= 0 {
		return ""
	}
	return cells.TruncateString(line, width, "…")
}

// Wrap breaks a line between words so that none of the lines takes more than that many cells, unless a single word does.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// Pad appends blanks until the line takes that many cells.
func Pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-Width(line)))
}

// Clean makes one harmless line of a text that comes from elsewhere: what separates lines becomes a blank, and what
// terminals might obey is written as an escape sequence of Go.
func Clean(text string) string {
	return Escape(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " "))
}

// CleanLines makes a harmless text of one that comes from elsewhere, whose lines stay.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Escape(strings.TrimRight(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// Escape writes what is not printable, or no text at all, as an escape sequence of Go, except tabs.
func Escape(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToGraphic(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden leaves alone the joiner that makes one character of several, as in emojis and in Indic scripts.
func hidden(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return r != '\t' && r != joiner && r != nonJoiner && !unicode.IsGraphic(r)
}
