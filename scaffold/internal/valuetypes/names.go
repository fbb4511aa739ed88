// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"crypto/sha256"
	"fmt"
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
	declared := n.kind == structure || isElement && n.kind != intOrString && len(typeMarkers(n)) > 0
	if declared {
		if n.ref != "" && r.share(n) {
			return
		}
		n.typeName = unique(r.refName(n, name), r.taken)
		r.types = append(r.types, n)
	}
	if n.kind == structure {
		r.nameFields(n, n.typeName)
	}
	if n.elem != nil {
		r.nameNode(n.elem, singular(name), true)
	}
}

// refName returns the name of a type that several places may refer to.
func (r *renderer) refName(n *node, name string) string {
	for _, section := range []string{"#/definitions/", "#/$defs/"} {
		if _, definition, ok := strings.Cut(n.ref, section); ok && !strings.Contains(definition, "/") {
			if name := strings.TrimSuffix(r.options.Name, "Values") + goName(definition); !r.taken[name] {
				return name
			}
		}
	}
	return name
}

// share gives a node the type of another one of the same reference, and reports whether there is one.
func (r *renderer) share(n *node) bool {
	key := n.ref + " " + r.signature(n)
	first := r.shared[key]
	if first == nil {
		r.shared[key] = n
		return false
	}
	n.typeName = first.typeName
	unify(first, n)
	return true
}

// unify removes from the first type what is different in the second: defaults.
func unify(first, second *node) {
	if first == second || first == nil || second == nil {
		return
	}
	for i, f := range first.fields {
		if i >= len(second.fields) {
			return
		}
		if f.initial != second.fields[i].initial {
			f.initial = ""
		}
		unify(f.node, second.fields[i].node)
	}
	unify(first.elem, second.elem)
}

// signature identifies types that differ in nothing but comments.
func (r *renderer) signature(n *node) string {
	if n == nil {
		return ""
	}
	if known, ok := r.signatures[n]; ok {
		return known
	}
	var out strings.Builder
	fmt.Fprintln(&out, n.kind, n.markers, n.rules, n.nullable, n.isSet, r.signature(n.elem))
	for _, f := range n.fields {
		fmt.Fprintln(&out, f.name, f.required, f.doc, r.signature(f.node))
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(out.String())))
	r.signatures[n] = sum
	return sum
}
