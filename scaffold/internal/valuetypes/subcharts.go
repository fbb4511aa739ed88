// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// relax lets users leave out what a subchart requires if it is switched off: then nothing is required of it. A rule of the parent requires it otherwise.
func (s *source) relax(d *deriver, parent *node, def wont) {
	for _, dep := range s.dependencies {
		child := parent.field(dep.key())
		if child == nil || dep.Condition == "" && len(dep.Tags) == 0 {
			continue
		}
		relaxed := child.required
		child.required = false
		var missing [][]string
		for _, below := range child.node.fields {
			if below.required {
				below.required, relaxed = false, true
				missing = append(missing, []string{child.name, below.name})
			}
		}
		if !relaxed {
			continue
		}
		off, known := dep.off(parent, def)
		if len(missing) == 0 {
			missing = [][]string{{child.name}}
		}
		var terms, names []string
		for _, path := range missing {
			given, _, ok := selection(parent, path)
			terms, names, known = append(terms, given), append(names, strings.Join(path, ".")), known && ok
		}
		if !known {
			d.unchecked(child.node.path, "what is required of a subchart that may be switched off")
			continue
		}
		d.rule(parent, or(off, and(terms...)), strings.Join(names, ", ")+": required unless the subchart is switched off", 0)
	}
}

// off returns an expression on the parent's values that is true if the subchart is switched off. False if that depends on tags, or on several conditions.
func (d dependency) off(parent *node, def wont) (string, bool) {
	if len(d.Tags) > 0 {
		return "", false
	}
	path := strings.Split(strings.TrimSpace(d.Condition), ".")
	given, value, ok := selection(parent, path)
	for _, name := range path {
		def = def.below(name)
	}
	if def.value == false {
		return not(and(given, value)), ok
	}
	return and(given, not(value)), ok
}

// selection returns two expressions: whether the user sets a value below a structure, and the value. False if CEL does not see it.
func selection(n *node, path []string) (given, value string, ok bool) {
	var terms []string
	value = "self"
	for _, name := range path {
		child := n.field(name)
		written, ok := celName(name)
		if child == nil || !ok || child.node.kind == anything {
			return "", "", false
		}
		value += "." + written
		terms = append(terms, "has("+value+")")
		n = child.node
	}
	return and(terms...), value, true
}

// on reports whether the subchart is part of a release with the values of the parent: the first condition that is a boolean decides, then tags do.
func (d dependency) on(parent map[string]any) bool {
	for path := range strings.SplitSeq(d.Condition, ",") {
		if value, found, err := unstructured.NestedBool(parent, strings.Split(strings.TrimSpace(path), ".")...); found && err == nil {
			return value
		}
	}
	tags, _ := parent["tags"].(map[string]any)
	off := false
	for _, tag := range d.Tags {
		switch tags[tag] {
		case true:
			return true
		case false:
			off = true
		}
	}
	return !off
}
