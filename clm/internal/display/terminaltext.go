// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// cells measures text that may contain colour sequences.
var cells = displaywidth.Options{ControlSequences: true}

// Width returns the number of cells that a line occupies, without colour sequences.
func Width(line string) int { return cells.String(line) }

// Truncate shortens a line to that many cells, and ends it with an ellipsis if something is cut off. Colour sequences
// stay intact.
func Truncate(line string, width int) string {
	if width <= 0 {
		return ""
	}
	return cells.TruncateString(line, width, "…")
}

// Elide shortens a line to that many cells, and puts an ellipsis in its middle if something is left out: the beginning
// and the end of a name are what it is known by.
func Elide(line string, width int) string {
	if Width(line) <= width || width < 3 {
		return Truncate(line, width)
	}
	end := line
	for Width(end) > (width-1)/2 {
		_, size := utf8.DecodeRuneInString(end)
		end = end[size:]
	}
	return strings.TrimSuffix(Truncate(line, width-Width(end)), "…") + "…" + end
}

// Wrap breaks a line between words so that each line occupies at most that many cells. A word that is longer is broken,
// too.
func Wrap(text string, width int) []string {
	if Width(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && Width(line)+1+Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		pieces := pieces(word, width)
		lines, line = append(lines, pieces[:len(pieces)-1]...), pieces[len(pieces)-1]
	}
	return append(lines, line)
}

// WrapHanging is Wrap with all lines but the first one indented by two blanks.
func WrapHanging(text string, width int) []string {
	lines := Wrap(text, width)
	if len(lines) == 1 {
		return lines
	}
	lines = Wrap(text, width-len(hanging))
	for i := range lines[1:] {
		lines[i+1] = hanging + lines[i+1]
	}
	return lines
}

// WriteWrapped writes a text behind the indentation, and wraps it if the limit is positive: a text that is needed whole
// is never shortened.
func WriteWrapped(out io.Writer, indent, text string, limit int) {
	lines := []string{text}
	if limit > 0 {
		lines = WrapHanging(text, limit-len(indent))
	}
	for _, line := range lines {
		_, _ = io.WriteString(out, indent+line+"\n")
	}
}

// pieces breaks a word so that each piece occupies at most that many cells, but has at least one character.
func pieces(word string, width int) []string {
	var pieces []string
	room, start, end := width, 0, 0
	for characters := cells.StringGraphemes(word); characters.Next(); {
		if characters.Width() > room && end > start {
			pieces = append(pieces, word[start:end])
			room, start = width, end
		}
		room -= characters.Width()
		end += len(characters.Value())
	}
	return append(pieces, word[start:])
}

// Pad appends blanks until the line occupies that many cells.
func Pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-Width(line)))
}

// Clean makes one safe line of an external text: line separators become blanks, and terminal control characters become
// escape sequences of Go.
func Clean(text string) string {
	return Escape(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " "))
}

// CleanLines makes an external text safe, and keeps its lines.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Escape(strings.TrimRight(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// Escape replaces unprintable characters and invalid UTF-8, except tabs, by escape sequences of Go.
func Escape(text string) string { return escape(text, func(string) int { return 0 }) }

// escape implements Escape. Where it would replace a character, spare returns how many bytes stay instead.
func escape(text string, spare func(rest string) int) string {
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		invalid, kept := r == utf8.RuneError && size == 1, size
		if invalid || hidden(r) {
			kept = spare(text)
		}
		switch {
		case kept > 0:
			b.WriteString(text[:kept])
			size = kept
		case invalid:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToGraphic(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

// hidden reports whether a character must be escaped. The joiner stays: it makes one character of several, as in emojis
// and in Indic scripts.
func hidden(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return r != '\t' && r != joiner && r != nonJoiner && !unicode.IsGraphic(r)
}
