// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// fill gives a structure its fields: those of the schema, those of its alternatives, those that it only requires, those that only
// values.yaml has, and those of subcharts.
func (d *deriver) fill(n *node, f *facts, in input) {
	if in.source != nil && len(in.schemas) > 0 && len(f.additional)+len(f.patterned) > 0 {
		d.note(in.path, "further fields that the schema allows are refused")
	}
	for _, name := range fieldNames(f, in) {
		if d.err == nil {
			d.err = checkName(in.path, name)
		}
		if d.err != nil {
			return
		}
		if child := d.fillField(name, f, in); child != nil {
			n.fields = append(n.fields, child)
		}
	}
	if in.source != nil {
		in.source.relax(d, n, in.def)
	}
	n.closed = f.closed
	if in.path == "" && !f.closed && len(in.schemas) > 0 {
		d.note("", "objects that do not forbid further fields have only those that the schema or values.yaml names")
	}
}

// fieldNames returns the names of a structure's fields. Sorted.
func fieldNames(f *facts, in input) []string {
	names := f.names()
	if !f.closed {
		// A field may be required that the schema does not describe.
		names = slices.Concat(names, in.def.keys(), f.required)
	}
	if in.source != nil {
		names = append(names, in.source.switches()...)
		if in.path == "" && len(in.source.dependencies) > 0 {
			names = append(names, "global")
		}
		if in.path != "" && !in.def.below("global").set {
			names = slices.DeleteFunc(names, func(name string) bool { return name == "global" })
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fillField returns the field of a structure. Nil if no value is valid.
func (d *deriver) fillField(name string, f *facts, in input) *field {
	def := in.def.below(name)
	below := input{path: join(in.path, name), def: def, many: in.many, above: in.above, loose: in.loose, schemas: f.properties[name]}
	if len(below.schemas) == 0 {
		for _, s := range f.branches() {
			below.schemas = append(below.schemas, gather(s).properties[name]...)
		}
		if len(below.schemas) > 0 {
			return d.looseField(name, f, below)
		}
	}
	if in.source != nil {
		for _, dep := range in.source.dependencies {
			if dep.key() != name {
				continue
			}
			below.source = dep.source
			if dep.source.schema != nil {
				below.schemas = append(slices.Clone(below.schemas), dep.source.schema)
			}
		}
	}
	if len(below.schemas) > 0 && gather(below.schemas...).types == 0 && below.source == nil {
		return nil
	}
	child := &field{name: name, def: def, node: d.special(name, below, in)}
	if child.node == nil {
		child.node = d.build(below)
	}
	describe(child, f, below)
	return child
}

// describe adds what the documentation says, and whether the field is required.
func describe(child *field, f *facts, in input) {
	child.doc = child.node.doc
	if child.node.kind != structure && in.def.set {
		child.initial = literal(in.def.value)
	}
	wanted := slices.Contains(f.required, child.name)
	if in.def.set {
		wanted = len(in.schemas) > 0 && !accepts(in.schemas, in.def.value)
	}
	child.required = wanted && !in.loose
	if child.required || child.initial == "{}" {
		child.initial = ""
	}
}

// looseField returns a field that only alternatives describe. It has the types of all of them; a rule of the structure has
// their validations.
func (d *deriver) looseField(name string, f *facts, in input) *field {
	var types typeSet
	for _, s := range in.schemas {
		types |= possible(s)
	}
	in.loose = true
	child := &field{name: name, def: in.def}
	if len(in.schemas) == 1 {
		child.node = d.build(in)
	} else {
		child.node = d.buildUnion(in, types)
	}
	describe(child, f, in)
	return child
}

// buildUnion returns a type for what several alternatives describe, each in its way.
func (d *deriver) buildUnion(in input, types typeSet) *node {
	if k, ok := simpleKinds[types&^tNull]; ok {
		return &node{kind: k, path: in.path, doc: gather(in.schemas...).text()}
	}
	first := gather(in.schemas[0])
	same := !slices.ContainsFunc(in.schemas, func(s *jsonschema.Schema) bool {
		return !slices.Equal(keywords(s), keywords(in.schemas[0])) || possible(s) != possible(in.schemas[0]) ||
			!slices.Equal(gather(s).names(), first.names()) || s.Ref != in.schemas[0].Ref
	})
	if same && types&^tNull != tObject && types&^tNull != tArray || in.schemas[0].Ref != nil && same {
		in.schemas = in.schemas[:1]
		return d.build(in)
	}
	d.note(in.path, "several alternatives describe it")
	if types == tObject {
		return &node{kind: freeMap, path: in.path}
	}
	return &node{kind: anything, path: in.path}
}

// special returns the type of values that Helm itself gives a meaning. Nil for others.
func (d *deriver) special(name string, below, in input) *node {
	if in.source == nil {
		return nil
	}
	if name == "global" && len(below.schemas) == 0 {
		d.note(below.path, "any chart may take any global value")
		return &node{kind: freeMap, path: below.path, doc: below.def.remark().text}
	}
	if name == "tags" && len(below.schemas) == 0 && slices.Contains(in.source.switches(), name) {
		return &node{
			kind: mapping, path: below.path, doc: "Switches subcharts on and off.",
			elem: &node{kind: boolean, path: below.path + "[]"},
		}
	}
	if slices.Contains(in.source.switches(), name) && len(below.schemas) == 0 && below.source == nil && !below.def.set {
		return &node{kind: boolean, path: below.path, doc: "Switches a subchart on and off."}
	}
	return nil
}

// switches returns the fields that switch this chart and its subcharts on and off, without those in other objects.
func (s *source) switches() []string {
	names := slices.Clone(s.own)
	for _, d := range s.dependencies {
		names = append(names, d.key())
		if len(d.Tags) > 0 {
			names = append(names, "tags")
		}
		for path := range strings.SplitSeq(d.Condition, ",") {
			if path = strings.TrimSpace(path); path != "" && !strings.Contains(path, ".") {
				names = append(names, path)
			}
		}
	}
	return names
}

// fillMapping gives a map the type of its values.
func (d *deriver) fillMapping(n *node, f *facts, in input) {
	schemas := f.additional
	if len(f.patterned) > 0 {
		schemas = f.patterned
	}
	if f.maxFields != nil {
		n.maxItems = *f.maxFields
	}
	n.elem = d.element(n, schemas, in)
	defaults, _ := in.def.value.(map[string]any)
	if len(defaults) == 0 || n.elem.kind != structure {
		return
	}
	// What the user sets for a key of values.yaml is merged with what is there.
	for _, child := range n.elem.fields {
		if child.required {
			child.required = false
			d.note(in.path, "required fields are not checked, since values.yaml may have them")
		}
	}
}

// fillList gives a list the type of its elements.
func (d *deriver) fillList(n *node, f *facts, in input) {
	if f.maxItems != nil {
		n.maxItems = *f.maxItems
	}
	switch {
	case f.tuple:
		d.note(in.path+"[]", "each element has a type of its own")
		n.elem = &node{kind: anything, path: in.path + "[]"}
	case len(f.items) == 0:
		d.note(in.path+"[]", "the schema does not describe the elements")
		n.elem = &node{kind: anything, path: in.path + "[]"}
	default:
		n.elem = d.element(n, f.items, in)
	}
}

// element returns the type of what is in a list or map.
func (d *deriver) element(n *node, schemas []*jsonschema.Schema, in input) *node {
	many := 0
	if n.maxItems > 0 && in.many > 0 && in.many*n.maxItems <= maxMany {
		many = in.many * n.maxItems
	}
	path := in.path + "[]"
	elem := d.build(input{schemas: schemas, def: in.def.none(), path: path, loose: in.loose, many: many, above: in.above})
	if elem.nullable {
		d.note(path, "null among elements")
		return &node{kind: anything, path: path, doc: elem.doc}
	}
	if elem.kind == intOrString && n.kind == mapping {
		d.note(path, "an integer or a string, as the value of a map")
		return &node{kind: anything, path: path, doc: elem.doc}
	}
	return elem
}
