// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds that keep a schema from costing more than anybody would read.
const (
	maxDepth = 64
	maxNodes = 10000
)

// kind is what a value becomes in Go.
type kind int

const (
	anything kind = iota // apiextensionsv1.JSON
	freeMap              // map[string]apiextensionsv1.JSON
	mapping
	list
	structure
	text
	integer
	number
	boolean
	intOrString
)

// types returns the JSON types that values of a kind have.
func (k kind) types() typeSet {
	return map[kind]typeSet{
		anything: tAll, freeMap: tObject, mapping: tObject, structure: tObject, list: tArray,
		text: tString, integer: tInt, number: tNumber, boolean: tBool, intOrString: tInt | tString,
	}[k]
}

// A node is the type of a value.
type node struct {
	kind     kind
	path     string
	doc      string
	fields   []*field // of a structure
	elem     *node    // of a list or mapping
	markers  []string // value validations, without +kubebuilder:validation:
	rules    []rule
	nullable bool
	isSet    bool // a list whose elements are unique
	ref      string
	many     int // how many a custom resource may have; 0 if there is no bound
	maxItems int // of a list or mapping, maxLength of a text; 0 if unbounded
	typeName string
	closed   bool // no further fields, whatever the schema says
}

type field struct {
	name, goName string
	doc          string
	initial      string // the default, as JSON
	def          wont
	node         *node
	required     bool
}

func (n *node) field(name string) *field {
	for _, f := range n.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// A deriver makes nodes of schemas and defaults.
type deriver struct {
	notes  []Note
	made   map[string]*node
	count  int
	regexp int // characters of the expressions in rules
	err    error
}

// An input is what is known about one value.
type input struct {
	schemas []*jsonschema.Schema // all of which describe the value; none if there is no schema
	def     wont
	path    string
	loose   bool // without validations: they are in a rule of an object above
	many    int  // how many such values a custom resource may have; 0 if there is no bound
	above   []*jsonschema.Schema
	source  *source // of a chart's root
}

func (d *deriver) note(path, format string, args ...any) {
	note := Note{Path: path, Reason: fmt.Sprintf(format, args...)}
	if !slices.Contains(d.notes, note) {
		d.notes = append(d.notes, note)
	}
}

func (d *deriver) root(s *source) (*node, error) {
	in := input{def: wont{value: s.defaults, set: true, remarks: s.remarks}, many: 1, source: s}
	if s.schema != nil {
		in.schemas = []*jsonschema.Schema{s.schema}
		f := gather(s.schema)
		if f.types&tObject == 0 {
			return nil, errors.New("values.schema.json: #/type excludes objects: the root must be an object")
		}
	}
	n := d.build(in)
	if d.err != nil {
		return nil, d.err
	}
	return n, nil
}

// build returns the type of a value.
func (d *deriver) build(in input) *node {
	d.count++
	if d.count > maxNodes {
		d.err = fmt.Errorf("the values have more than %d fields: %s is beyond that", maxNodes, at(in.path))
	}
	if d.err != nil || len(in.above) > maxDepth*4 {
		return &node{kind: anything, path: in.path}
	}
	if len(in.schemas) == 0 && in.source == nil {
		return d.fromDefault(in)
	}
	f := gather(in.schemas...)
	if slices.ContainsFunc(f.schemas, func(s *jsonschema.Schema) bool { return slices.Contains(in.above, s) }) {
		d.note(in.path, "the schema refers to itself")
		return &node{kind: anything, path: in.path, doc: f.text()}
	}
	key := in.key()
	if n := d.made[key]; n != nil {
		return n
	}
	in.above = slices.Concat(in.above, f.schemas)
	n := d.fromFacts(f, in)
	if n.doc == "" {
		n.doc = in.def.remark().text
	}
	if key != "" {
		d.made[key] = n
	}
	return n
}

// key identifies inputs with the same result. Empty if there is a default, which no other place has.
func (in input) key() string {
	if in.def.set || in.source != nil {
		return ""
	}
	key := fmt.Sprint(in.loose, in.many)
	for _, s := range in.schemas {
		key += " " + s.Location
	}
	return key
}

func (f *facts) text() string {
	if f.description != "" {
		return f.description
	}
	return f.title
}

func (d *deriver) fromFacts(f *facts, in input) *node {
	n := &node{path: in.path, many: in.many, doc: f.text(), kind: d.kindOf(f, in), ref: reference(in.schemas)}
	n.nullable = f.types&tNull != 0 && f.types != tAll && !in.def.set
	switch n.kind {
	case structure:
		d.fill(n, f, in)
	case mapping:
		d.fillMapping(n, f, in)
	case list:
		d.fillList(n, f, in)
	case anything, freeMap, text, integer, number, boolean, intOrString:
	}
	if !in.loose {
		d.bound(n, f, in.def)
		d.addRules(n, f, in)
	}
	return n
}

// reference returns where a schema is that several places refer to.
func reference(schemas []*jsonschema.Schema) string {
	if len(schemas) != 1 || schemas[0].Ref == nil {
		return ""
	}
	return schemas[0].Ref.Location
}

// simpleKinds are what single values become.
var simpleKinds = map[typeSet]kind{
	tString: text, tInt: integer, tNumber: number, tFraction: number, tBool: boolean,
}

// kindOf decides what a value becomes.
func (d *deriver) kindOf(f *facts, in input) kind {
	if in.source != nil {
		return structure
	}
	types := f.types &^ tNull
	if types == tAll&^tNull {
		types = d.inferred(f, in)
	}
	if k, ok := simpleKinds[types]; ok {
		return k
	}
	switch {
	case types == tObject:
		return d.objectKind(f, in)
	case types == tArray:
		return list
	case types == tInt|tString && in.many > 0:
		return intOrString
	case types == tInt|tString:
		d.note(in.path, "an integer or a string, in a list or map without bounds")
	case types == tAll&^tNull:
		d.note(in.path, "the schema has no type for it")
	default:
		d.note(in.path, "the schema allows several types")
	}
	return anything
}

// inferred returns the type that the keywords of a schema without type are about.
func (d *deriver) inferred(f *facts, in input) typeSet {
	var types typeSet
	for about, present := range map[typeSet]bool{
		tObject: len(f.properties)+len(f.required)+len(f.additional)+len(f.patterned) > 0 || f.closed || given(f.minFields, f.maxFields),
		tArray:  len(f.items) > 0 || f.tuple || f.unique || given(f.minItems, f.maxItems),
		tString: len(f.patterns)+len(f.formats) > 0 || given(f.minLength, f.maxLength),
		tNumber: len(f.multiple) > 0 || given(f.min, f.max, f.above, f.below),
	} {
		if present {
			types |= about
		}
	}
	name, known := map[typeSet]string{tObject: "an object", tArray: "a list", tString: "a string", tNumber: "a number"}[types]
	if !known {
		return tAll &^ tNull
	}
	if types != tObject || len(f.properties) == 0 {
		d.note(in.path, "the schema has no type for it; its keywords are those of %s", name)
	}
	return types
}

// given reports whether one of several bounds is there.
func given[T any](bounds ...*T) bool {
	return slices.ContainsFunc(bounds, func(bound *T) bool { return bound != nil })
}

// objectKind decides what an object becomes.
func (d *deriver) objectKind(f *facts, in input) kind {
	if f.listed {
		d.note(in.path, "the schema lists objects")
		return freeMap
	}
	named := len(f.names()) > 0
	switch further := len(f.additional) + len(f.patterned); {
	case named && further > 0:
		d.note(in.path, "an object with fields of its own and further ones")
		return freeMap
	case named, f.closed && further == 0:
		return structure
	case len(f.patterned) > 1 || len(f.patterned) == 1 && len(f.additional) > 0:
		d.note(in.path, "an object whose fields have types by their names")
		return freeMap
	case len(f.patterned) == 1:
		if !f.closed {
			d.note(in.path, "fields whose names do not match the pattern must have the same type")
		}
		d.note(in.path, "the names of fields are not checked")
		return mapping
	case further > 0:
		return mapping
	}
	d.note(in.path, "the schema does not name the fields of this object")
	return freeMap
}

// names returns the properties of an object, and those of its alternatives.
func (f *facts) names() []string {
	names := sortedKeys(f.properties)
	for _, s := range f.branches() {
		names = append(names, sortedKeys(gather(s).properties)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// branches returns the schemas that describe the value under conditions, and those that these lead to.
func (f *facts) branches() []*jsonschema.Schema {
	all := f.alternatives()
	for i := 0; i < len(all) && len(all) < maxDepth*4; i++ {
		for _, branch := range gather(all[i]).alternatives() {
			if !slices.Contains(all, branch) {
				all = append(all, branch)
			}
		}
	}
	return all
}

func (f *facts) alternatives() []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for _, c := range f.choices {
		all = append(all, c.of...)
	}
	for _, s := range f.conditional {
		for _, branch := range []*jsonschema.Schema{s.Then, s.Else} {
			if branch != nil {
				all = append(all, branch)
			}
		}
		for _, name := range sortedKeys(s.DependentSchemas) {
			all = append(all, s.DependentSchemas[name])
		}
		for _, name := range sortedKeys(s.Dependencies) {
			if branch, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
				all = append(all, branch)
			}
		}
	}
	return all
}

// checkName refuses what encoding/json does not take as the name of a field.
func checkName(path, name string) error {
	const allowed = "!#$%&()*+-./:;<=>?@[]^_{|}~ "
	valid := name != "" && name != "-"
	for _, c := range name {
		valid = valid && (isLetterOrDigit(c) || strings.ContainsRune(allowed, c))
	}
	if !valid {
		return fmt.Errorf("the value %q in %s cannot be a field of a Go type: allowed in names are letters, digits, blanks and %s",
			name, at(path), strings.TrimSpace(allowed))
	}
	return nil
}
