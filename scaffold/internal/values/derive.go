// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits for schemas that are too large to be read by people.
const (
	maxDepth = 64
	maxNodes = 10000
)

// kind is the Go form of a value.
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
	known // a Kubernetes type
)

// A node is the type of a value.
type node struct {
	kind     kind
	path     string
	doc      string
	fields   []*field // of a structure
	elem     *node    // of a list or mapping
	markers  []string // value validations, without +kubebuilder:validation:
	nullable bool
	isSet    bool // a list whose elements are unique
	typeName string
	goType   reflect.Type // if it is known
}

type field struct {
	name, goName string
	initial      string // the default, as JSON
	node         *node
	required     bool
}

// A deriver derives nodes from schemas and defaults.
type deriver struct {
	source  *source
	notes   []Note
	choices []Choice
	placed  map[string]reflect.Type
	made    map[string]*node
	count   int
	err     error
}

// An input contains what is known about one value.
type input struct {
	schemas  []*jsonschema.Schema // all of which describe the value; none if there is no schema
	def      fallback
	path     string
	repeated bool // below a list or map
	partial  bool // what the object requires may come from elsewhere
	above    []*jsonschema.Schema
}

func (d *deriver) note(path, format string, args ...any) {
	d.notes = append(d.notes, Note{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// unchecked notes that only the chart's schema validates something.
func (d *deriver) unchecked(n *node, what string) {
	d.note(n.path, "not checked before the chart is rendered: %s", what)
}

func (d *deriver) root() (*node, error) {
	in := input{def: fallback{value: d.source.defaults, set: true}, schemas: d.source.schemas("", nil)}
	if len(in.schemas) > 0 {
		f := gather(in.schemas...)
		if f.types&tObject == 0 {
			return nil, errors.New("values.schema.json: #/type excludes objects: the root must be an object")
		}
		if _, closed := f.additional(); !closed {
			d.note("", "objects that do not forbid further fields have only those that the schema or values.yaml names")
		}
	}
	n := d.build(in)
	return n, d.err
}

// isChart reports whether the value contains the values of a chart.
func (d *deriver) isChart(in input) bool { return !in.repeated && d.source.isChart(in.def.path) }

// build returns the type of a value.
func (d *deriver) build(in input) *node {
	d.count++
	if d.count > maxNodes {
		d.err = fmt.Errorf("the values have more than %d fields: %s is beyond that", maxNodes, at(in.path))
	}
	if d.err != nil {
		return &node{kind: anything, path: in.path}
	}
	if len(in.schemas) == 0 && !d.isChart(in) {
		return d.fromDefault(in)
	}
	f := gather(in.schemas...)
	if slices.ContainsFunc(f.schemas, func(s *jsonschema.Schema) bool { return slices.Contains(in.above, s) }) {
		d.note(in.path, "the schema refers to itself")
		return &node{kind: anything, path: in.path, doc: f.doc()}
	}
	if in.def.set { // no other place has this default
		return d.fromFacts(f, in)
	}
	key := fmt.Sprint(in.repeated, in.partial)
	for _, s := range in.schemas {
		key += " " + s.Location
	}
	if n := d.made[key]; n != nil {
		return n
	}
	n := d.fromFacts(f, in)
	d.made[key] = n
	return n
}

func (d *deriver) fromFacts(f *facts, in input) *node {
	in.above = slices.Concat(in.above, f.schemas)
	n := &node{path: in.path, doc: cmp.Or(f.doc(), d.remark(in).text), kind: d.kindOf(f, in)}
	n.nullable = f.types&tNull != 0 && f.types != tAll && f.enum() == nil && !in.def.set
	switch n.kind {
	case structure:
		d.addFields(n, f, in)
	case mapping:
		in.partial = len(in.def.keys()) > 0
		additional, _ := f.additional()
		n.elem = d.element(additional, in)
		if in.partial && n.elem.kind == structure {
			d.note(in.path, "required fields are not checked, since values.yaml may have them")
		}
	case list:
		in.partial = false
		items, tuple := f.items()
		if tuple {
			n.elem = &node{path: in.path + "[]"}
			d.note(n.elem.path, "each element has a type of its own")
			break
		}
		n.elem = d.element(items, in)
	case anything, freeMap, text, integer, number, boolean, intOrString, known:
	}
	d.bound(n, f, in.def)
	if listed := f.enum(); listed != nil && !in.repeated && in.def.path != "" {
		d.choose(strings.Split(in.def.path, separator), *listed)
	}
	return n
}

// remark returns the remark on a value.
func (d *deriver) remark(in input) remark {
	if in.repeated {
		return remark{}
	}
	return d.source.remarks[in.def.path]
}

// choose records the values that the schema lists for a field, with JSON types.
func (d *deriver) choose(path []string, listed []any) {
	for _, value := range listed {
		var plain any
		if err := convert(value, &plain); err == nil && plain != nil {
			d.choices = append(d.choices, Choice{Path: path, Value: plain})
		}
	}
}

// element returns the type of the elements of a list or map. They have no defaults, because Helm merges only objects.
func (d *deriver) element(schemas []*jsonschema.Schema, in input) *node {
	path := in.path + "[]"
	if len(schemas) == 0 {
		d.note(path, "the schema does not describe the elements")
		return &node{kind: anything, path: path}
	}
	elem := d.build(input{schemas: schemas, path: path, repeated: true, partial: in.partial, above: in.above})
	if elem.nullable {
		d.note(path, "null among elements")
		return &node{kind: anything, path: path, doc: elem.doc}
	}
	return elem
}

// simpleKinds are the kinds of values with a single type.
var simpleKinds = map[typeSet]kind{
	tString: text, tInt: integer, tNumber: number, tFraction: number, tBool: boolean, tArray: list,
}

// kindOf decides the Go form of a value.
func (d *deriver) kindOf(f *facts, in input) kind {
	if d.isChart(in) {
		return structure
	}
	types := f.types &^ tNull
	if types == tAll&^tNull {
		types = inferred(f)
	}
	if k, ok := simpleKinds[types]; ok {
		return k
	}
	switch {
	case types == tObject:
		return d.objectKind(f, in)
	case types == tInt|tString && !in.repeated:
		return intOrString
	case types == tAll&^tNull:
		d.note(in.path, "the schema has no type for it")
	default:
		d.note(in.path, "the schema allows several types")
	}
	return anything
}

// inferred returns the type of a value whose schema has no type, but describes the content of objects or lists.
func inferred(f *facts) typeSet {
	additional, closed := f.additional()
	items, tuple := f.items()
	isObject, isList := len(f.names())+len(f.required())+len(additional) > 0 || f.hasPatterns() || closed, len(items) > 0 || tuple
	switch {
	case isObject && !isList:
		return tObject
	case isList && !isObject:
		return tArray
	}
	return tAll &^ tNull
}

// objectKind decides the Go form of an object.
func (d *deriver) objectKind(f *facts, in input) kind {
	additional, closed := f.additional()
	named := len(f.names()) > 0
	switch {
	case f.enum() != nil:
		d.note(in.path, "the schema lists objects")
	case f.hasPatterns():
		d.note(in.path, "an object whose fields have types by their names")
	case named && len(additional) > 0:
		d.note(in.path, "an object with fields of its own and further ones")
	case named, closed:
		return structure
	case len(additional) > 0:
		return mapping
	default:
		d.note(in.path, "the schema does not name the fields of this object")
	}
	return freeMap
}

// addFields adds the fields of a structure: those of the schema, those that it only requires, those that only
// values.yaml has, and those of subcharts.
func (d *deriver) addFields(n *node, f *facts, in input) {
	names := f.names()
	if _, closed := f.additional(); !closed {
		// A required field may be missing in the schema's properties.
		names = slices.Concat(names, in.def.keys(), f.required())
	}
	if d.isChart(in) {
		names = append(names, d.source.below(in.def.path)...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if d.err == nil {
			d.err = checkName(in.path, name)
		}
		if d.err != nil {
			return
		}
		if child := d.makeField(name, f, in); child != nil {
			n.fields = append(n.fields, child)
		}
	}
}

// makeField returns the field of a structure; nil if no value is valid. The values of a subchart that may be switched
// off are not required.
func (d *deriver) makeField(name string, f *facts, in input) *field {
	below := input{path: join(in.path, name), def: in.def.below(name), repeated: in.repeated, above: in.above, schemas: f.property(name)}
	if !in.repeated {
		below.schemas = d.source.schemas(below.def.path, below.schemas)
		below.partial = len(below.schemas) > 0 && d.source.charts[below.def.path].switched
	}
	n := d.typeOfField(name, f, below)
	if n == nil {
		return nil
	}
	child := &field{name: name, node: n}
	required := slices.Contains(f.required(), name)
	if below.def.set {
		required = len(below.schemas) > 0 && !accepts(below.schemas, below.def.value)
	}
	child.required = required && !in.partial && !below.partial
	if initial := literal(below.def.value); n.kind != structure && below.def.set && !child.required && initial != "{}" {
		child.initial = initial
	}
	return child
}

// typeOfField returns the type of a field; nil if no value is valid.
func (d *deriver) typeOfField(name string, f *facts, in input) *node {
	switch {
	case len(in.schemas) > 0 && gather(in.schemas...).types == 0 && !d.isChart(in):
		return nil
	case len(in.schemas) == 0 && slices.Contains(f.names(), name):
		d.note(in.path, "only alternatives or conditions of the schema describe it")
		return &node{kind: anything, path: in.path, doc: d.remark(in).text}
	}
	n := d.place(d.build(in), in)
	if in.partial {
		d.unchecked(n, "what is required of a subchart that may be switched off")
	}
	return n
}

// place gives a value the Kubernetes type of the field that templates put it into, unless a schema says more about it.
func (d *deriver) place(n *node, in input) *node {
	t := d.placed[in.def.path]
	isScalar := len(in.schemas) == 0 && n.kind != list
	switch {
	case t == nil || in.repeated:
	case t == port && n.kind == integer && isScalar:
		n.mark("Minimum", "0") // often means none
		n.mark("Maximum", "65535")
	case listed[t] != nil && n.kind == text && isScalar:
		n.kind, n.goType = known, t
		n.mark("Enum", `{"`+strings.Join(listed[t], `","`)+`"}`)
	case t == percentage && isScalar, t != port && listed[t] == nil && n.isFree():
		d.notes = slices.DeleteFunc(d.notes, func(note Note) bool { return note.Path == in.path || note.Path == in.path+"[]" })
		return &node{kind: known, goType: t, path: n.path, doc: n.doc, nullable: n.nullable, markers: rules[t]}
	}
	return n
}

// isFree reports whether a value, or an element of it, may be anything.
func (n *node) isFree() bool {
	return n.kind == anything || n.kind == freeMap || n.kind == list && n.elem.isFree()
}

// shapes are suffixes of names of values that have a Kubernetes type, or that users extend freely.
var shapes = []string{
	"affinity", "annotations", "env", "envfrom", "envvars", "labels", "lifecycle", "livenessprobe", "matchlabels",
	"nodeselector", "readinessprobe", "resources", "securitycontext", "startupprobe", "strategy", "tolerations",
	"topologyspreadconstraints", "updatestrategy", "volumemounts", "volumes", "dnsconfig", "hostaliases",
	"initcontainers", "sidecars", "selectorlabels", "global",
}

// fromDefault derives the type of a value without a schema from its default.
func (d *deriver) fromDefault(in input) *node {
	n := &node{path: in.path, doc: d.remark(in).text}
	switch value := in.def.value.(type) {
	case bool:
		n.kind = boolean
	case string:
		n.kind = text
	case json.Number:
		n.kind = number
		if !d.remark(in).float && !strings.ContainsAny(value.String(), ".eE") {
			n.kind = integer
		}
	case []any:
		n.kind = list
		n.elem = &node{kind: common(value), path: in.path + "[]"}
		if n.elem.kind == anything || n.elem.kind == freeMap {
			d.note(n.elem.path, "values.yaml does not say what an element may be")
		}
	case map[string]any:
		n.kind = structure
		if isData(in.path, value) {
			n.kind = freeMap
			d.note(in.path, "users add fields to such an object")
			return n
		}
		d.addFields(n, &facts{}, in)
	default:
		d.note(in.path, "values.yaml has no default that shows its type")
	}
	return n
}

// isData reports whether the keys of an object are data, like those of labels.
func isData(path string, value map[string]any) bool {
	name := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
	return len(value) == 0 ||
		slices.ContainsFunc(shapes, func(shape string) bool { return strings.HasSuffix(name, shape) }) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(value)), func(key string) bool { return strings.Contains(key, "/") })
}

// common returns the common kind of all elements of a list; anything if they differ. Objects stay free-form, because
// each has only the fields that it uses.
func common(elements []any) kind {
	var types typeSet
	for _, element := range elements {
		types |= typeOf(element)
	}
	switch k := simpleKinds[types]; {
	case types == tObject:
		return freeMap
	case k == list:
		return anything
	default:
		return k
	}
}

// checkName refuses names that encoding/json does not accept in a field's tag.
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
