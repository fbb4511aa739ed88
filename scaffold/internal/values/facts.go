// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/util/sets"
)

// typeSet is a set of JSON types. Integers are separate from other numbers.
type typeSet uint8

const (
	tNull typeSet = 1 << iota
	tBool
	tInt
	tFraction
	tString
	tArray
	tObject
	tNumber = tInt | tFraction
	tAll    = tNull | tBool | tNumber | tString | tArray | tObject
)

var typeNames = map[string]typeSet{
	"null": tNull, "boolean": tBool, "integer": tInt, "number": tNumber, "string": tString, "array": tArray, "object": tObject,
}

// facts are all schemas that describe one value: the given ones and, recursively, their references, their allOf, and
// their alternatives if only one of them is not null.
type facts struct {
	schemas []*jsonschema.Schema
	types   typeSet
	choices [][]*jsonschema.Schema // several alternatives each
	// conditional means that some keywords cannot be expressed by a type.
	conditional bool
}

func gather(schemas ...*jsonschema.Schema) *facts {
	f := &facts{types: tAll}
	for _, s := range schemas {
		f.add(s)
	}
	return f
}

func (f *facts) add(s *jsonschema.Schema) {
	if slices.Contains(f.schemas, s) {
		return
	}
	f.schemas = append(f.schemas, s)
	f.types &= ownTypes(s)
	f.conditional = f.conditional || s.If != nil || s.Not != nil || s.PropertyNames != nil || s.Contains != nil || s.UnevaluatedItems != nil ||
		s.RecursiveRef != nil || s.DynamicRef != nil || len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) > 0
	for _, part := range parts(s) {
		f.add(part)
	}
	f.addChoice(s.AnyOf)
	f.addChoice(s.OneOf)
}

// parts returns the schemas that a schema includes by reference and allOf.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	if s.Ref != nil {
		return append([]*jsonschema.Schema{s.Ref}, s.AllOf...)
	}
	return s.AllOf
}

// addChoice restricts the types to those of the alternatives. If only one of them is not null, it always applies.
func (f *facts) addChoice(alternatives []*jsonschema.Schema) {
	if len(alternatives) == 0 {
		return
	}
	var union typeSet
	var left []*jsonschema.Schema
	for _, alternative := range alternatives {
		types := ownTypes(alternative)
		union |= types
		if types&^tNull != 0 {
			left = append(left, alternative)
		}
	}
	f.types &= union
	if len(left) == 1 {
		null := f.types & tNull
		f.add(left[0])
		f.types |= null
	} else {
		f.choices, f.conditional = append(f.choices, left), true
	}
}

// first returns a keyword of the first schema that has it. If several have it, no type can express that.
func first[T comparable](f *facts, keyword func(s *jsonschema.Schema) T) T {
	var none, found T
	for _, s := range f.schemas {
		if value := keyword(s); value != none {
			f.conditional = f.conditional || found != none
			found = cmp.Or(found, value)
		}
	}
	return found
}

// all returns the values of all schemas.
func all[T any](f *facts, keyword func(s *jsonschema.Schema) []T) []T {
	var values []T
	for _, s := range f.schemas {
		values = append(values, keyword(s)...)
	}
	return values
}

func (f *facts) enum() *[]any { return first(f, enumOf) }

func (f *facts) doc() string {
	return cmp.Or(all(f, func(s *jsonschema.Schema) []string { return []string{s.Description, s.Title} })...)
}

func (f *facts) property(name string) []*jsonschema.Schema {
	return all(f, func(s *jsonschema.Schema) []*jsonschema.Schema {
		if property := s.Properties[name]; property != nil {
			return []*jsonschema.Schema{property}
		}
		return nil
	})
}

func (f *facts) required() []string {
	return all(f, func(s *jsonschema.Schema) []string { return s.Required })
}

// additional returns the schemas of further fields, and whether further fields are forbidden.
func (f *facts) additional() (schemas []*jsonschema.Schema, closed bool) {
	for _, s := range f.schemas {
		further := s.UnevaluatedProperties
		switch own := s.AdditionalProperties.(type) {
		case bool:
			closed = closed || !own
		case *jsonschema.Schema:
			further = own
		}
		switch {
		case further == nil:
		case further.Bool != nil:
			closed = closed || !*further.Bool
		default:
			schemas = append(schemas, further)
		}
	}
	return schemas, closed
}

func (f *facts) hasPatterns() bool {
	return slices.ContainsFunc(f.schemas, func(s *jsonschema.Schema) bool { return len(s.PatternProperties) > 0 })
}

// items returns the schemas of the elements of a list. A tuple has different schemas for its elements.
func (f *facts) items() (schemas []*jsonschema.Schema, tuple bool) {
	for _, s := range f.schemas {
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			schemas = append(schemas, items)
		case []*jsonschema.Schema:
			tuple = true
		}
		if s.Items2020 != nil {
			schemas = append(schemas, s.Items2020)
		}
		tuple = tuple || len(s.PrefixItems) > 0
	}
	return schemas, tuple
}

// names returns the properties of an object, including those in alternatives and conditions, sorted.
func (f *facts) names() []string {
	names, seen := sets.New[string](), map[*jsonschema.Schema]bool{}
	var collect func(schemas ...*jsonschema.Schema)
	collect = func(schemas ...*jsonschema.Schema) {
		for _, s := range schemas {
			if s == nil || seen[s] {
				continue
			}
			seen[s] = true
			names.Insert(slices.Collect(maps.Keys(s.Properties))...)
			collect(slices.Concat(parts(s), s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Then, s.Else})...)
			for _, dependent := range s.DependentSchemas {
				collect(dependent)
			}
		}
	}
	collect(f.schemas...)
	return sets.List(names)
}

// typeOf returns the type of a value that was decoded with json.Number.
func typeOf(value any) typeSet {
	switch value := value.(type) {
	case nil:
		return tNull
	case bool:
		return tBool
	case string:
		return tString
	case []any:
		return tArray
	case map[string]any:
		return tObject
	case json.Number:
		if r, ok := new(big.Rat).SetString(value.String()); ok && r.IsInt() {
			return tInt
		}
	}
	return tFraction
}

// ownTypes returns the types that a schema itself allows.
func ownTypes(s *jsonschema.Schema) typeSet {
	types := tAll
	if s.Bool != nil && !*s.Bool {
		return 0
	}
	if s.Types != nil {
		types = 0
		for _, name := range s.Types.ToStrings() {
			types |= typeNames[name]
		}
	}
	if listed := enumOf(s); listed != nil {
		var listedTypes typeSet
		for _, value := range *listed {
			listedTypes |= typeOf(value)
		}
		types &= listedTypes
	}
	return types
}

// enumOf returns the values that a schema lists; nil if it lists none.
func enumOf(s *jsonschema.Schema) *[]any {
	switch {
	case s.Const != nil:
		return &[]any{*s.Const}
	case s.Enum != nil:
		return &s.Enum.Values
	}
	return nil
}

// formats are those that the API server validates like JSON Schema. It does not know the others, or interprets them
// differently: a duration is a Go duration there.
var formats = []string{"date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}

// int32Only is a rule for integers or strings. With a larger integer in one component, an operator could not read any
// component of that kind.
const int32Only = `XValidation:rule="type(self) != int || (self >= -2147483648 && self <= 2147483647)",` +
	`message="must be an integer of 32 bits, or a string"`

// bound translates the validations of a single value into markers. The chart's schema checks the rest.
func (d *deriver) bound(n *node, f *facts, def fallback) {
	switch n.kind {
	case text:
		d.boundText(n, f)
	case integer, number:
		boundNumber(n, f)
	case list:
		n.limit("MinItems", first(f, func(s *jsonschema.Schema) *int { return s.MinItems }))
		n.limit("MaxItems", first(f, func(s *jsonschema.Schema) *int { return s.MaxItems }))
		isUnique := slices.ContainsFunc(f.schemas, func(s *jsonschema.Schema) bool { return s.UniqueItems })
		n.isSet = isUnique && slices.Contains([]kind{text, integer, number, boolean}, n.elem.kind)
		if isUnique && !n.isSet {
			d.unchecked(n, "uniqueItems")
		}
	case mapping:
		// For the schema, the fields of values.yaml count, but the custom resource does not have them.
		if len(def.keys()) == 0 {
			n.limit("MinProperties", first(f, func(s *jsonschema.Schema) *int { return s.MinProperties }))
			n.limit("MaxProperties", first(f, func(s *jsonschema.Schema) *int { return s.MaxProperties }))
		}
	case intOrString:
		n.markers = append(n.markers, int32Only)
	case anything, boolean, structure, freeMap, known:
	}
	d.boundEnum(n, f)
	if f.conditional {
		d.unchecked(n, "conditions of the schema")
	}
}

func (n *node) mark(name, value string) { n.markers = append(n.markers, name+"="+value) }

func (n *node) limit(name string, value *int) {
	if value != nil && (*value > 0 || strings.HasPrefix(name, "Max")) {
		n.mark(name, strconv.Itoa(*value))
	}
}

func (d *deriver) boundText(n *node, f *facts) {
	n.limit("MinLength", first(f, func(s *jsonschema.Schema) *int { return s.MinLength }))
	n.limit("MaxLength", first(f, func(s *jsonschema.Schema) *int { return s.MaxLength }))
	if pattern := first(f, func(s *jsonschema.Schema) jsonschema.Regexp { return s.Pattern }); pattern != nil {
		n.mark("Pattern", raw(pattern.String()))
	}
	if format := first(f, func(s *jsonschema.Schema) *jsonschema.Format { return s.Format }); format != nil {
		if slices.Contains(formats, format.Name) {
			n.mark("Format", strconv.Quote(format.Name))
		} else {
			d.unchecked(n, "the format "+format.Name)
		}
	}
}

// raw returns the text as a Go string literal, without escapes if possible.
func raw(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

func boundNumber(n *node, f *facts) {
	for _, limit := range []struct {
		name, exclusive string
		keyword         func(s *jsonschema.Schema) *big.Rat
	}{
		{"Minimum", "", func(s *jsonschema.Schema) *big.Rat { return s.Minimum }},
		{"Maximum", "", func(s *jsonschema.Schema) *big.Rat { return s.Maximum }},
		{"MultipleOf", "", func(s *jsonschema.Schema) *big.Rat { return s.MultipleOf }},
		{"Minimum", "ExclusiveMinimum", func(s *jsonschema.Schema) *big.Rat { return s.ExclusiveMinimum }},
		{"Maximum", "ExclusiveMaximum", func(s *jsonschema.Schema) *big.Rat { return s.ExclusiveMaximum }},
	} {
		value := first(f, limit.keyword)
		isMarked := slices.ContainsFunc(n.markers, func(marker string) bool { return strings.HasPrefix(marker, limit.name+"=") })
		if value == nil || isMarked || n.kind == integer && !value.IsInt() {
			continue
		}
		n.mark(limit.name, decimal(value))
		if limit.exclusive != "" {
			n.mark(limit.exclusive, "true")
		}
	}
}

func decimal(r *big.Rat) string {
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// boundEnum adds a marker for the allowed values.
func (d *deriver) boundEnum(n *node, f *facts) {
	listed := f.enum()
	switch {
	case listed == nil:
	case n.kind == text, n.kind == integer:
		var values []string
		for _, value := range *listed {
			if value != nil { // null is up to the type
				values = append(values, literal(value))
			}
		}
		n.mark("Enum", "{"+strings.Join(values, ",")+"}")
	default:
		d.unchecked(n, "the list of values")
	}
}
