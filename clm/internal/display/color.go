// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"io"
	"os"
)

// Color says when output is coloured. A pointer to it is a flag value. The zero value is ColorAuto.
type Color string

const (
	// ColorAuto means that output to a terminal is coloured, unless the environment variable NO_COLOR has a value or
	// TERM is dumb.
	ColorAuto Color = "auto"
	// ColorAlways means that output is always coloured.
	ColorAlways Color = "always"
	// ColorNever means that output is not coloured.
	ColorNever Color = "never"
)

// Style returns the style for output to that writer.
func (c Color) Style(out io.Writer) Style {
	switch c {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	case ColorAuto:
	}
	return Style(os.Getenv("NO_COLOR") == "" && IsCapable(out))
}

// Style colours text if it is true. The text must be a single line.
type Style bool

// Bold is for headings.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Faint is for less important text.
func (s Style) Faint(text string) string { return s.paint("2", text) }

// Red is for failures and deletions.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green is for success and creations.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow is for unfinished objects and changes.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan is for positions in a diff.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// paint ends with a reset, so that the colour does not continue after a line that is cut off.
func (s Style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
