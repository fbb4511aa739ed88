// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"encoding/json"
	"strings"
)

// shapes are the endings of names under which charts take what Kubernetes has types for, or what users extend as they like.
var shapes = []string{
	"affinity", "annotations", "env", "envfrom", "envvars", "labels", "lifecycle", "livenessprobe", "matchlabels", "nodeselector",
	"readinessprobe", "resources", "securitycontext", "startupprobe", "strategy", "tolerations", "topologyspreadconstraints",
	"updatestrategy", "volumemounts", "volumes", "dnsconfig", "hostaliases", "initcontainers", "sidecars", "selectorlabels",
}

// fromDefault returns the type of a value that no schema describes.
func (d *deriver) fromDefault(in input) *node {
	n := &node{path: in.path, doc: in.def.remark().text}
	switch value := in.def.value.(type) {
	case bool:
		n.kind = boolean
	case string:
		n.kind = text
	case json.Number:
		n.kind = number
		if in.def.isInteger() {
			n.kind = integer
		}
	case []any:
		n.kind = list
		n.elem = &node{kind: common(value), path: in.path + "[]"}
		if n.elem.kind == anything || n.elem.kind == freeMap {
			d.note(in.path+"[]", "values.yaml does not say what an element may be")
		}
	case map[string]any:
		d.fromObject(n, value, in)
	default:
		d.note(in.path, "values.yaml has no default that shows its type")
	}
	return n
}

// fromObject makes a structure, unless users are to add fields.
func (d *deriver) fromObject(n *node, value map[string]any, in input) {
	n.kind = structure
	name := strings.ToLower(in.path[strings.LastIndex(in.path, ".")+1:])
	switch {
	case len(value) == 0:
		n.kind = freeMap
		d.note(in.path, "values.yaml has an empty object")
		return
	case isData(name, value):
		n.kind = freeMap
		d.note(in.path, "users add fields to such an object")
		return
	}
	for _, key := range in.def.keys() {
		if d.err == nil {
			d.err = checkName(in.path, key)
		}
		if d.err != nil {
			return
		}
		below := in
		below.path, below.def = join(in.path, key), in.def.below(key)
		child := &field{name: key, def: below.def, node: d.build(below)}
		describe(child, &facts{}, below)
		n.fields = append(n.fields, child)
	}
}

// isData reports whether the keys of an object are data, as those of labels are.
func isData(name string, value map[string]any) bool {
	for _, shape := range shapes {
		if strings.HasSuffix(name, shape) {
			return true
		}
	}
	for key := range value {
		if strings.Contains(key, "/") {
			return true
		}
	}
	return false
}

// common returns the kind of all elements of a list: anything, if they differ. Objects stay free-form: each shows only the fields that it uses.
func common(elements []any) kind {
	var types typeSet
	for _, element := range elements {
		types |= typeOf(element)
	}
	if types == tObject {
		return freeMap
	}
	return simpleKinds[types]
}
