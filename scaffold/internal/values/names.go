// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// initialisms are written in capitals in Go names.
var initialisms = []string{
	"ACL", "API", "ASCII", "CA", "CPU", "CSS", "DNS", "EOF", "GUID", "HTML", "HTTP", "HTTPS", "ID", "IP", "JSON", "LHS", "OCI", "OIDC",
	"QPS", "RAM", "RBAC", "RHS", "RPC", "SLA", "SMTP", "SQL", "SSH", "SSL", "TCP", "TLS", "TTL", "UDP", "UI", "UID", "UUID", "URI", "URL",
	"UTF8", "VM", "XML", "XMPP", "XSRF", "XSS", "YAML",
}

func isLetterOrDigit(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// goName returns an exported Go identifier for a name in JSON.
func goName(name string) string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
		}
		word = nil
	}
	var last rune
	for _, c := range name {
		if !isLetterOrDigit(c) {
			flush()
		} else {
			if unicode.IsUpper(c) && unicode.IsLower(last) {
				flush()
			}
			word = append(word, c)
		}
		last = c
	}
	flush()
	var out strings.Builder
	for _, w := range words {
		if upper := strings.ToUpper(w); slices.Contains(initialisms, upper) {
			out.WriteString(upper)
			continue
		}
		runes := []rune(w)
		runes[0] = unicode.ToUpper(runes[0])
		out.WriteString(string(runes))
	}
	result := out.String()
	if first := []rune(result); len(first) == 0 || !unicode.IsUpper(first[0]) {
		return "X" + result
	}
	return result
}

// singular returns the name of one element of a list.
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
func unique(name string, taken map[string]bool) string {
	result := name
	for i := 2; taken[result]; i++ {
		result = name + strconv.Itoa(i)
	}
	taken[result] = true
	return result
}

// name gives the root and all types below it their names.
func (r *renderer) name(root *node) {
	root.typeName = unique(r.options.Name, r.taken)
	r.types = append(r.types, root)
	r.nameFields(root, strings.TrimSuffix(r.options.Name, "Values"))
}

func (r *renderer) nameFields(n *node, prefix string) {
	taken := map[string]bool{"DeepCopy": true, "DeepCopyInto": true, "ToUnstructured": true}
	for _, f := range n.fields {
		f.goName = unique(goName(f.name), taken)
	}
	for _, f := range n.fields {
		r.nameNode(f.node, prefix+f.goName, false)
	}
}

// nameNode names a type that needs a declaration: structures, and elements with validations, since markers
// belong to fields and types.
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
		r.nameNode(n.elem, singular(name), true)
	}
}
