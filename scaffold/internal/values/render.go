// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"go/format"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/sets"
)

// width is the maximum length of lines in comments.
const width = 100

// A renderer writes declarations.
type renderer struct {
	taken   sets.Set[string]
	types   []*node
	used    sets.Set[string] // packages
	numbers bool
}

func (r *renderer) render() (string, error) {
	// The clause makes the first comment formatted like the others.
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
	switch kind := f.node.kind; {
	case kind == list, kind == mapping, kind == freeMap, kind == known && f.node.goType.Kind() != reflect.Struct && f.node.goType.Kind() != reflect.String:
		option = ",omitzero"
	default:
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
	doc := strings.TrimSpace(f.node.doc)
	if f.initial == "" || len(f.initial) > 60 || strings.Contains(strings.ToLower(doc), "defaults to") {
		return doc
	}
	if doc != "" && !strings.ContainsAny(doc[len(doc)-1:], ".!?:") {
		doc += "."
	}
	return strings.TrimSpace(doc + " Defaults to " + f.initial + ".")
}

// goType returns the Go type of a value: the name of its declaration, if it has one.
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
	case known:
		return r.known(n.goType)
	case structure:
	}
	return n.typeName
}

// known returns the name of a Kubernetes type.
func (r *renderer) known(t reflect.Type) string {
	if t.Kind() == reflect.Slice {
		return "[]" + r.known(t.Elem())
	}
	if t.PkgPath() == "" {
		return t.String()
	}
	return r.from(t.PkgPath(), t.Name())
}

func (r *renderer) from(path, name string) string {
	r.used.Insert(path)
	return Alias(path) + "." + name
}

// comment writes a text as a comment. None of its lines looks like a marker.
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

// wrap divides a text into lines. Words that look like a marker do not begin a line.
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

// initialisms are in upper case in Go names: all of staticcheck, which the project is linted with, and some of charts.
var initialisms = []string{
	"ACL", "AMQP", "API", "ASCII", "CA", "CPU", "CSS", "DB", "DNS", "EOF", "GID", "GUID", "HTML", "HTTP", "HTTPS", "ID", "IP", "JSON", "LHS", "OCI",
	"OIDC", "QPS", "RAM", "RBAC", "RHS", "RPC", "RTP", "SIP", "SLA", "SMTP", "SQL", "SSH", "SSL", "TCP", "TLS", "TS", "TTL", "UDP", "UI", "UID", "UUID",
	"URI", "URL", "UTF8", "VM", "XML", "XMPP", "XSRF", "XSS", "YAML",
}

func isLetterOrDigit(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// goName returns an exported Go identifier for a JSON name.
func goName(name string) string {
	var spaced strings.Builder
	var last rune
	for _, c := range name {
		if !isLetterOrDigit(c) || !unicode.IsLower(c) && unicode.IsLower(last) {
			spaced.WriteByte(' ')
		}
		if isLetterOrDigit(c) {
			spaced.WriteRune(c)
		}
		last = c
	}
	var out strings.Builder
	for word := range strings.FieldsSeq(spaced.String()) {
		if upper := strings.ToUpper(word); slices.Contains(initialisms, upper) {
			out.WriteString(upper)
			continue
		}
		runes := []rune(word)
		runes[0] = unicode.ToUpper(runes[0])
		out.WriteString(string(runes))
	}
	result := out.String()
	if first := []rune(result); len(first) == 0 || !unicode.IsUpper(first[0]) {
		return "X" + result
	}
	return result
}

// singular returns the name for one element of a list.
func singular(name string) string {
	switch {
	case strings.HasSuffix(name, "ies") && len(name) > 4:
		return strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "sses"), strings.HasSuffix(name, "xes"):
		return strings.TrimSuffix(name, "es")
	case strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss") && len(name) > 2:
		return strings.TrimSuffix(name, "s")
	}
	return name + "Item"
}

// unique returns the name, with a number if it is taken.
func unique(name string, taken sets.Set[string]) string {
	result := name
	for i := 2; taken.Has(result); i++ {
		result = name + strconv.Itoa(i)
	}
	taken.Insert(result)
	return result
}

// name assigns names to the root and to all types below it.
func (r *renderer) name(root *node, name string) {
	root.typeName = unique(name, r.taken)
	r.types = append(r.types, root)
	r.nameFields(root, strings.TrimSuffix(name, "Values"))
}

func (r *renderer) nameFields(n *node, prefix string) {
	taken := sets.New("DeepCopy", "DeepCopyInto", "ToUnstructured")
	for _, f := range n.fields {
		f.goName = unique(goName(f.name), taken)
	}
	for _, f := range n.fields {
		r.nameNode(f.node, prefix+f.goName, false)
	}
}

// nameNode names a type that needs a declaration: structures, and elements with validations, because markers belong to
// fields and types.
func (r *renderer) nameNode(n *node, name string, isElement bool) {
	if n.typeName != "" {
		return
	}
	if n.kind == structure || isElement && len(typeMarkers(n)) > 0 {
		n.typeName = unique(name, r.taken)
		r.types = append(r.types, n)
	}
	if n.kind == structure {
		r.nameFields(n, n.typeName)
	}
	if n.elem != nil {
		r.nameNode(n.elem, goName(singular(name)), true)
	}
}
