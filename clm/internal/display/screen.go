// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Screen is the part of a terminal that shows a view. Between calls, the cursor is at the beginning of the line below
// it. Screen does not change the mode of the terminal, not even the visibility of the cursor, so nothing has to be
// restored when the process ends. It is not safe for concurrent use.
type Screen struct {
	out           io.Writer
	lines         []string
	columns, rows int
}

// NewScreen returns a screen without a view.
func NewScreen(out io.Writer) *Screen {
	if guarded, isGuard := out.(*guard); isGuard {
		out = guarded.out
	}
	return &Screen{out: out}
}

// Show replaces the view in one write, and does not rewrite unchanged lines. Lines must be shorter than the width of
// the terminal, and fewer than its rows. All that they can do to the terminal is to colour text.
func (s *Screen) Show(lines []string, columns, rows int) {
	var b strings.Builder
	lines = slices.Clone(lines)
	for i, line := range lines {
		if safe := escape(line, colors); safe != line {
			lines[i] = Truncate(safe, columns-1)
		}
	}
	if columns != s.columns || rows != s.rows {
		if len(s.lines) > 0 {
			s.erase(&b, columns, rows)
		}
		s.columns, s.rows = columns, rows
	}
	first := 0
	for first < min(len(lines), len(s.lines)) && lines[first] == s.lines[first] {
		first++
	}
	if first == len(lines) && first == len(s.lines) {
		return
	}
	b.WriteString(up(len(s.lines) - first))
	for i := first; i < len(lines); i++ {
		if i >= len(s.lines) || lines[i] != s.lines[i] {
			b.WriteString(lines[i] + "\x1b[K")
		}
		b.WriteString("\r\n")
	}
	// Below is the rest of a longer view, or the ^C that the terminal itself writes at the cursor.
	b.WriteString("\x1b[J")
	s.lines = lines
	_, _ = io.WriteString(s.out, b.String())
}

// Clear removes the view.
func (s *Screen) Clear(columns, rows int) {
	var b strings.Builder
	s.erase(&b, columns, rows)
	_, _ = io.WriteString(s.out, b.String())
}

// erase relies on terminals that become narrower to wrap lines. If a terminal has become lower, the lines that it has
// scrolled out of sight stay there.
func (s *Screen) erase(b *strings.Builder, columns, rows int) {
	height := 0
	for _, line := range s.lines {
		height += max(1, (Width(line)+columns-1)/columns)
	}
	height = min(height, rows-1)
	// Clear line by line, because some terminals keep in the scrollback what is cleared from their first line on.
	b.WriteString(up(height) + strings.Repeat("\x1b[K\r\n", max(0, height)) + "\x1b[J" + up(height))
	s.lines = nil
}

// up moves the cursor up by that many lines, to the beginning of the line.
func up(lines int) string {
	if lines <= 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", lines)
}
