// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A line of YAML, with the path of its field; all lines of a multi-line string have the path of the string.
type diffLine struct {
	text, path string
}

// document is a YAML document under construction. An encoder would write some multi-line strings on a single line, in
// which no difference can be shown: those with tabs, or with trailing blanks.
type document struct {
	lines []diffLine
}

// render returns the lines of an object, with sorted keys.
func render(object map[string]any) []diffLine {
	var d document
	if len(object) > 0 {
		d.mapping(object, 0, "")
	}
	return d.lines
}

func (d *document) add(indent int, text, path string) {
	if text != "" {
		text = strings.Repeat(" ", indent) + text
	}
	d.lines = append(d.lines, diffLine{text: text, path: path})
}

func (d *document) mapping(mapping map[string]any, indent int, path string) {
	for _, key := range slices.Sorted(maps.Keys(mapping)) {
		field := Clean(key)
		if path != "" {
			field = path + "." + field
		}
		head := scalar(key) + ":"
		switch value := mapping[key].(type) {
		case map[string]any:
			if len(value) > 0 {
				d.add(indent, head, path)
				d.mapping(value, indent+2, field)
				continue
			}
		case []any:
			if len(value) > 0 {
				d.add(indent, head, path)
				d.sequence(value, indent, field)
				continue
			}
		case string:
			if isText(value) {
				d.text(value, head+" ", indent, path, field)
				continue
			}
		}
		d.add(indent, head+" "+scalar(mapping[key]), path)
	}
}

func (d *document) sequence(sequence []any, indent int, path string) {
	for i, element := range sequence {
		name := strconv.Itoa(i)
		first := len(d.lines)
		switch value := element.(type) {
		case map[string]any:
			if known, ok := value["name"].(string); ok {
				name = Clean(known)
			}
			if len(value) > 0 {
				d.mapping(value, indent+2, path+"["+name+"]")
			}
		case []any:
			if len(value) > 0 {
				d.sequence(value, indent+2, path+"["+name+"]")
			}
		case string:
			if isText(value) {
				d.text(value, "", indent+2, path, path+"["+name+"]")
			}
		}
		if first == len(d.lines) {
			d.add(indent+2, scalar(element), path)
		}
		d.lines[first].text = strings.Repeat(" ", indent) + "- " + d.lines[first].text[indent+2:]
	}
}

// isText reports whether a string is shown line by line.
func isText(value string) bool {
	return strings.Contains(value, "\n") && strings.Trim(value, "\n") != ""
}

// text writes a literal block, so that a difference shows only the lines that differ.
func (d *document) text(text, head string, indent int, path, field string) {
	indicator := "|"
	if start := strings.TrimLeft(text, "\n")[0]; start == ' ' || start == '\t' {
		indicator += "2"
	}
	switch content := strings.TrimRight(text, "\n"); len(text) - len(content) {
	case 0:
		indicator += "-"
	case 1:
	default:
		indicator += "+"
	}
	d.add(indent, head+indicator, path)
	if head == "" {
		indent -= 2 // an element of a list: the block is indented relative to the dash
	}
	for content := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		d.add(indent+2, Escape(content), field)
	}
}

// scalar returns a value that fits on one line.
func scalar(value any) string {
	switch value := value.(type) {
	case masked:
		return string(value)
	case string:
		if strings.Contains(value, "\n") {
			return strconv.Quote(value)
		}
	case nil, bool, int, int32, int64, float32, float64, map[string]any, []any:
	default:
		return strconv.Quote(fmt.Sprint(value))
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return strconv.Quote(fmt.Sprint(value))
	}
	return Escape(strings.TrimSuffix(string(text), "\n"))
}
