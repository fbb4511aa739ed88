// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"html/template"
	"regexp"
	"strings"

	"github.com/component-operator/runtime/internal/display"
)

// style is that of all texts that become HTML.
const style display.Style = true

// color is the sequence with which display.Style begins or ends a color.
var color = regexp.MustCompile("\x1b\\[(\\d+)m")

// colorNames are the classes of colors in the style sheet.
var colorNames = map[string]string{"1": "bold", "2": "faint", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}

// ansiToHTML returns a text for terminals as HTML: its colors as elements, everything else escaped.
func ansiToHTML(text string) template.HTML {
	var html strings.Builder
	open := 0
	for at := 0; at < len(text); {
		found := color.FindStringSubmatchIndex(text[at:])
		if found == nil {
			html.WriteString(template.HTMLEscapeString(text[at:]))
			break
		}
		html.WriteString(template.HTMLEscapeString(text[at : at+found[0]]))
		if name := colorNames[text[at+found[2]:at+found[3]]]; name != "" {
			html.WriteString(`<span class="` + name + `">`)
			open++
		} else if open > 0 {
			html.WriteString(`</span>`)
			open--
		}
		at += found[1]
	}
	html.WriteString(strings.Repeat("</span>", open))
	return template.HTML(html.String()) //nolint:gosec // all of it is escaped, or one of the elements above
}
