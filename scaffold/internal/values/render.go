// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"go/format"
	"slices"
	"strings"
	"unicode"
)

// width is the length of lines in comments.
const width = 100

// A renderer writes declarations.
type renderer struct {
	options Options
	taken   map[string]bool
	types   []*node
	used    map[string]bool // packages
	numbers bool
}

func newRenderer(options Options) *renderer {
	taken := map[string]bool{}
	for _, name := range options.Reserved {
		taken[name] = true
	}
	return &renderer{options: options, taken: taken, used: map[string]bool{}}
}

func (r *renderer) render() (string, error) {
	// The clause has the first comment formatted as the others are.
	const clause = "package values\n"
	var out strings.Builder
	out.WriteString(clause + "\n")
	for _, n := range r.types {
		r.declare(&out, n)
	}
	source, err := format.Source([]byte(out.String()))
	if err != nil {
		return "", fmt.Errorf("formatting the declarations: %w", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(source), clause)) + "\n", nil
}

func (r *renderer) declare(out *strings.Builder, n *node) {
	r.comment(out, "", r.typeDoc(n))
	for _, marker := range typeMarkers(n) {
		fmt.Fprintf(out, "// %s\n", marker)
	}
	if n.kind != structure {
		fmt.Fprintf(out, "type %s %s\n\n", n.typeName, r.underlying(n))
		return
	}
	fmt.Fprintf(out, "type %s struct {\n", n.typeName)
	for i, f := range n.fields {
		if i > 0 {
			out.WriteByte('\n')
		}
		r.field(out, f)
	}
	out.WriteString("}\n\n")
}

// typeDoc returns the comment of a type. It begins with the name.
func (r *renderer) typeDoc(n *node) string {
	doc := ""
	if n.doc != "" {
		doc = "\n\n" + n.doc
	}
	switch {
	case n.path == "":
		return n.typeName + " are the values of the chart. What is not set has the chart's default." + doc
	case n.kind == structure:
		return n.typeName + " has the values below " + strings.TrimSuffix(n.path, "[]") + "." + doc
	default:
		return n.typeName + " is a value in " + strings.TrimSuffix(n.path, "[]") + "." + doc
	}
}

func typeMarkers(n *node) []string {
	var markers []string
	for _, m := range n.markers {
		markers = append(markers, "+kubebuilder:validation:"+m)
	}
	if n.isSet {
		markers = append(markers, "+listType=set")
	}
	return markers
}

func (r *renderer) field(out *strings.Builder, f *field) {
	r.comment(out, "\t", fieldDoc(f))
	markers := []string{"+optional"}
	if f.required {
		markers = []string{"+required"}
	}
	if f.node.nullable {
		markers = append(markers, "+nullable")
	}
	if f.node.kind == freeMap {
		markers = append(markers, "+kubebuilder:validation:Schemaless", "+kubebuilder:validation:Type=object", "+kubebuilder:pruning:PreserveUnknownFields")
	}
	if f.node.typeName == "" {
		markers = append(markers, typeMarkers(f.node)...)
	}
	for _, marker := range markers {
		fmt.Fprintf(out, "\t// %s\n", marker)
	}
	goType := r.goType(f.node)
	option := ",omitempty"
	switch f.node.kind {
	case list, mapping, freeMap:
		option = ",omitzero"
	case anything, structure, text, integer, number, boolean, intOrString:
		if !f.required || f.node.nullable {
			goType = "*" + goType
		}
		if f.required {
			option = ""
		}
	}
	fmt.Fprintf(out, "\t%s %s `json:\"%s%s\"`\n", f.goName, goType, f.name, option)
}

// fieldDoc returns the description of a field, with its default.
func fieldDoc(f *field) string {
	doc := strings.TrimSpace(f.doc)
	if f.initial == "" || len(f.initial) > 60 || strings.Contains(strings.ToLower(doc), "defaults to") {
		return doc
	}
	if doc != "" && !strings.ContainsAny(doc[len(doc)-1:], ".!?:") {
		doc += "."
	}
	return strings.TrimSpace(doc + " Defaults to " + f.initial + ".")
}

// goType returns the type of a value: the name of its declaration, if it has one.
func (r *renderer) goType(n *node) string {
	if n.typeName != "" {
		return n.typeName
	}
	return r.underlying(n)
}

func (r *renderer) underlying(n *node) string {
	switch n.kind {
	case anything:
		return r.from(jsonPackage, "JSON")
	case freeMap:
		return "map[string]" + r.from(jsonPackage, "JSON")
	case mapping:
		return "map[string]" + r.goType(n.elem)
	case list:
		return "[]" + r.goType(n.elem)
	case text:
		return "string"
	case integer:
		return "int64"
	case number:
		r.numbers = true
		return "float64"
	case boolean:
		return "bool"
	case intOrString:
		return r.from(intstrPackage, "IntOrString")
	case structure:
	}
	return n.typeName
}

func (r *renderer) from(path, name string) string {
	r.used[path] = true
	return Alias(path) + "." + name
}

// comment writes a text as a comment. No line of it looks like a marker.
func (r *renderer) comment(out *strings.Builder, indent, text string) {
	text = strings.Map(func(c rune) rune {
		if c == '\n' || unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, strings.ToValidUTF8(text, " "))
	var lines []string
	for i, paragraph := range strings.Split(text, "\n\n") {
		wrapped := wrap(paragraph, width-len(indent)*4-len("// "))
		if len(wrapped) == 0 {
			continue
		}
		if i > 0 && len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, wrapped...)
	}
	for _, line := range lines {
		fmt.Fprintln(out, strings.TrimRight(indent+"// "+line, " "))
	}
}

// wrap divides a text into lines. Words that begin a marker do not begin a line.
func wrap(text string, limit int) []string {
	var lines []string
	words := strings.Fields(text)
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Trim(w, "+-") == "" && len(w) > 1 })
	for _, word := range words {
		starts := strings.HasPrefix(word, "+")
		last := len(lines) - 1
		switch {
		case last < 0:
			lines = append(lines, strings.TrimLeft(word, "+"))
		case len([]rune(lines[last]))+1+len([]rune(word)) <= limit, starts:
			lines[last] += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
