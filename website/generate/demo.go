// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"regexp"
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

// A line of the recording, and the second in which it appears.
type line struct {
	text string
	at   float64
}

// readRecording reads what script(1) has recorded: the output, and a file with delays in seconds and numbers of bytes.
// Lines that were overwritten are left out.
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
	for entry := range strings.Lines(string(delays)) {
		var delay float64
		var count int
		if _, err := fmt.Sscan(entry, &delay, &count); err != nil || count > len(content) {
			return nil, fmt.Errorf("%s: %q is not a delay and a number of bytes of the output", timing, entry)
		}
		now += min(delay, maxPause)
		for _, char := range string(content[:count]) {
			switch char {
			case '\n':
				text := strings.TrimRight(current.String(), "\r")
				lines = append(lines, line{text[strings.LastIndexByte(text, '\r')+1:], now})
				current.Reset()
			default:
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

// writeDemo draws the recording of the demo as an animated picture. Who prefers no motion sees its end.
func writeDemo(output, timing, target string) error {
	lines, err := readRecording(output, timing)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s is empty", output)
	}
	end := lines[len(lines)-1].at + lastPause
	percent := func(second float64) float64 { return 100 * second / end }
	var style, text, scroll strings.Builder
	offset := 0
	for i, each := range lines {
		fmt.Fprintf(&text, `<text y="%.0f" class="l" style="animation-name:a%d">%s</text>`+"\n", float64(i+1)*height, i, styled(each.text))
		fmt.Fprintf(&style, "@keyframes a%d{0%%,%.3f%%{opacity:0}%.3f%%,100%%{opacity:1}}", i, max(0, percent(each.at)-.001), percent(each.at))
		if further := i + 1 - rows; further > offset {
			fmt.Fprintf(&scroll, "%.3f%%{transform:translateY(%.0fpx)}", max(0, percent(each.at)-.001), -float64(offset)*height)
			fmt.Fprintf(&scroll, "%.3f%%{transform:translateY(%.0fpx)}", percent(each.at), -float64(further)*height)
			offset = further
		}
	}
	final := -float64(offset) * height
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f"
font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="15" fill="#dfe5ea">
<style>text{white-space:pre}.b{font-weight:700}.f{fill:#97a3ac}.g{fill:#6fdc8c}#s{transform:translateY(%.0fpx)}
@media (prefers-reduced-motion:no-preference){.l,#s{animation-duration:%.1fs;animation-iteration-count:infinite;animation-timing-function:step-end}#s{animation-name:s}
@keyframes s{0%%{transform:none}%s100%%{transform:translateY(%.0fpx)}}%s}</style>
<rect width="100%%" height="100%%" fill="#11161a"/>
<svg x="%.0f" y="%.0f" width="%.0f" height="%.0f" overflow="hidden"><g id="s">
%s</g></svg></svg>
`, columns*cellWidth+2*margin, rows*height+2*margin, final, end, scroll.String(), final, style.String(), margin, margin, columns*cellWidth, rows*height+4, text.String())
	return write(target, out.Bytes())
}
