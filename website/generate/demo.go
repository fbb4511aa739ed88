// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
)

// The picture of the terminal, in columns, rows and pixels.
const (
	columns, rows     = 100, 26
	cellWidth, height = 9.0, 20.0
	margin            = 16.0
)

// A moment must not last longer than maxPause seconds in the picture; the last one lasts lastPause.
const maxPause, lastPause = 1.2, 6.0

// A line of the recording, its row, and the seconds in which it appears and is overwritten; until is zero if it stays.
type line struct {
	text      string
	row       int
	at, until float64
}

// readRecording reads what script(1) has recorded: the output, and a file with delays in seconds and numbers of bytes.
func readRecording(output, timing string) ([]line, error) {
	content, err := os.ReadFile(output)
	if err != nil {
		return nil, err
	}
	delays, err := os.ReadFile(timing)
	if err != nil {
		return nil, err
	}
	// script adds a line before and after.
	_, content, _ = bytes.Cut(content, []byte("\n"))
	var lines []line
	var current strings.Builder
	var now float64
	row := 0
	begun := 0.0 // when current begins
	put := func() {
		if current.Len() == 0 {
			return
		}
		if last := len(lines) - 1; last >= 0 && lines[last].row == row {
			lines[last].until = begun
		}
		if text := current.String(); sequence.ReplaceAllString(text, "") != "" {
			lines = append(lines, line{text: text, row: row, at: begun})
		}
		current.Reset()
	}
	for entry := range strings.Lines(string(delays)) {
		var delay float64
		var count int
		if _, err := fmt.Sscan(entry, &delay, &count); err != nil || count > len(content) {
			return nil, fmt.Errorf("%s: %q is not a delay and a number of bytes of the output", timing, entry)
		}
		now += min(delay, maxPause)
		for _, char := range string(content[:count]) {
			switch char {
			case '\r', '\n':
				put()
				if char == '\n' {
					row++
				}
			default:
				if current.Len() == 0 {
					begun = now
				}
				current.WriteRune(char)
			}
		}
		content = content[count:]
	}
	return lines, nil
}

// sequence matches the control sequences that the demo uses.
var sequence = regexp.MustCompile("\x1b\\[([0-9]*)([mK])")

// classes are the classes of the styles of the demo.
var classes = map[string]string{"1": "b", "2": "f", "32": "g"}

// styled returns a line as SVG text.
func styled(text string) string {
	var out strings.Builder
	open := false
	last := 0
	for _, at := range sequence.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(html.EscapeString(text[last:at[0]]))
		last = at[1]
		if open {
			out.WriteString("</tspan>")
			open = false
		}
		if class := classes[text[at[2]:at[3]]]; class != "" && text[at[4]] == 'm' {
			fmt.Fprintf(&out, `<tspan class=%q>`, class)
			open = true
		}
	}
	out.WriteString(html.EscapeString(text[last:]))
	if open {
		out.WriteString("</tspan>")
	}
	return out.String()
}

// writeDemo draws the recording of the demo, from its first heading on, as an animated picture. Who prefers no motion sees its end.
func writeDemo(output, timing, target string) error {
	lines, err := readRecording(output, timing)
	if err != nil {
		return err
	}
	heading := slices.IndexFunc(lines, func(each line) bool { return strings.HasPrefix(each.text, "\x1b[1m") })
	if heading < 0 {
		return fmt.Errorf("%s has no heading", output)
	}
	lines = lines[heading:]
	begin, top := lines[0].at, lines[0].row
	end := lines[len(lines)-1].at - begin + lastPause
	percent := func(second float64) float64 { return 100 * (second - begin) / end }
	var style, text, scroll strings.Builder
	offset := 0
	for i, each := range lines {
		from, class := percent(each.at), "l"
		if each.until == 0 {
			fmt.Fprintf(&style, "@keyframes a%d{0%%{opacity:%d}%.3f%%,100%%{opacity:1}}", i, isZero(from), from)
		} else {
			class = "l t"
			fmt.Fprintf(&style, "@keyframes a%d{0%%{opacity:%d}%.3f%%{opacity:1}%.3f%%,100%%{opacity:0}}", i, isZero(from), from, percent(each.until))
		}
		fmt.Fprintf(&text, `<text y="%.0f" class="%s" style="animation-name:a%d">%s</text>`+"\n", float64(each.row-top+1)*height, class, i, styled(each.text))
		if further := each.row - top + 1 - rows; further > offset {
			fmt.Fprintf(&scroll, "%.3f%%{transform:translateY(%.0fpx)}", from, -float64(further)*height)
			offset = further
		}
	}
	final := -float64(offset) * height
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f"
font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="15" fill="#dfe5ea">
<style>text{white-space:pre}.b{font-weight:700}.f{fill:#97a3ac}.g{fill:#6fdc8c}.t{opacity:0}#s{transform:translateY(%.0fpx)}
@media (prefers-reduced-motion:no-preference){.l,#s{animation-duration:%.1fs;animation-iteration-count:infinite;animation-timing-function:step-end}#s{animation-name:s}
@keyframes s{0%%{transform:none}%s100%%{transform:translateY(%.0fpx)}}%s}</style>
<rect width="100%%" height="100%%" fill="#11161a"/>
<svg x="%.0f" y="%.0f" width="%.0f" height="%.0f" overflow="hidden"><g id="s">
%s</g></svg></svg>
`, columns*cellWidth+2*margin, rows*height+2*margin, final, end, scroll.String(), final, style.String(), margin, margin, columns*cellWidth, rows*height+4, text.String())
	return write(target, out.Bytes())
}

// isZero returns 1 for zero, and 0 for anything else.
func isZero(number float64) int {
	if number == 0 {
		return 1
	}
	return 0
}
