// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"maps"
	"math/big"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// typeSet is a set of JSON types. Integers are apart from other numbers.
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

// facts are what several schemas say together about a value that all of them describe. References and allOf are resolved.
type facts struct {
	schemas []*jsonschema.Schema // all that were gathered
	types   typeSet
	enum    []any // what is allowed, if listed
	listed  bool

	properties map[string][]*jsonschema.Schema
	required   []string
	additional []*jsonschema.Schema
	patterned  []*jsonschema.Schema // of patternProperties
	closed     bool
	items      []*jsonschema.Schema
	tuple      bool
	unique     bool

	min, max, above, below *big.Rat // above and below are exclusive
	multiple               []*big.Rat
	minLength, maxLength   *int
	minItems, maxItems     *int
	minFields, maxFields   *int
	patterns               []jsonschema.Regexp
	formats                []string

	choices     []choice
	conditional []*jsonschema.Schema // with if, not, or dependent keywords
	beyond      []string             // keywords that no type expresses

	title, description string
	hint               *any
	examples           []any
}

// A choice is an anyOf or oneOf that is not resolved.
type choice struct {
	exactlyOne bool
	of         []*jsonschema.Schema
	schema     *jsonschema.Schema // that has the keyword
}

func gather(schemas ...*jsonschema.Schema) *facts {
	f := &facts{types: tAll, properties: map[string][]*jsonschema.Schema{}}
	for _, s := range schemas {
		f.add(s)
	}
	f.fold()
	return f
}

// add makes the facts those of one more schema.
func (f *facts) add(s *jsonschema.Schema) {
	if slices.Contains(f.schemas, s) {
		return
	}
	f.schemas = append(f.schemas, s)
	if s.Bool != nil && !*s.Bool {
		f.types = 0
	}
	f.addTypes(s)
	f.addObject(s)
	f.addArray(s)
	f.addScalar(s)
	f.addText(s)
	f.addConditions(s)
	for _, part := range parts(s) {
		f.add(part)
	}
}

// parts returns what a schema consists of: references and allOf.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	if s.Ref != nil {
		all = append(all, s.Ref)
	}
	if s.RecursiveRef != nil {
		all = append(all, s.RecursiveRef)
	}
	if s.DynamicRef != nil && s.DynamicRef.Ref != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	return append(all, s.AllOf...)
}

func (f *facts) addTypes(s *jsonschema.Schema) {
	f.types &= ownTypes(s)
	var values []any
	switch {
	case s.Const != nil:
		values = []any{*s.Const}
	case s.Enum != nil:
		values = s.Enum.Values
	default:
		return
	}
	f.restrict(values)
}

// restrict allows only values that are listed.
func (f *facts) restrict(values []any) {
	if !f.listed {
		f.enum, f.listed = slices.Clone(values), true
		return
	}
	f.enum = slices.DeleteFunc(f.enum, func(value any) bool {
		return !slices.ContainsFunc(values, func(v any) bool { return literal(v) == literal(value) })
	})
}

func ownTypes(s *jsonschema.Schema) typeSet {
	types := tAll
	if s.Types != nil {
		types = 0
		for _, name := range s.Types.ToStrings() {
			types |= typeNames[name]
		}
	}
	switch {
	case s.Const != nil:
		types &= typesOf([]any{*s.Const})
	case s.Enum != nil:
		types &= typesOf(s.Enum.Values)
	}
	return types
}

func typesOf(values []any) typeSet {
	var types typeSet
	for _, value := range values {
		types |= typeOf(value)
	}
	return types
}

func (f *facts) addObject(s *jsonschema.Schema) {
	for _, name := range sortedKeys(s.Properties) {
		f.properties[name] = append(f.properties[name], s.Properties[name])
	}
	f.required = append(f.required, s.Required...)
	switch additional := s.AdditionalProperties.(type) {
	case bool:
		f.closed = f.closed || !additional
	case *jsonschema.Schema:
		f.addAdditional(additional)
	}
	if s.UnevaluatedProperties != nil {
		f.addAdditional(s.UnevaluatedProperties)
	}
	for _, pattern := range slices.SortedFunc(maps.Keys(s.PatternProperties), byText) {
		f.patterned = append(f.patterned, s.PatternProperties[pattern])
	}
	if s.PropertyNames != nil {
		f.beyond = append(f.beyond, "propertyNames")
	}
	f.minFields, f.maxFields = higher(f.minFields, s.MinProperties), lower(f.maxFields, s.MaxProperties)
}

func (f *facts) addAdditional(s *jsonschema.Schema) {
	if s.Bool != nil {
		f.closed = f.closed || !*s.Bool
		return
	}
	f.additional = append(f.additional, s)
}

func (f *facts) addArray(s *jsonschema.Schema) {
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		f.items = append(f.items, items)
	case []*jsonschema.Schema:
		f.tuple = true
	}
	if s.Items2020 != nil {
		f.items = append(f.items, s.Items2020)
	}
	f.tuple = f.tuple || len(s.PrefixItems) > 0
	f.unique = f.unique || s.UniqueItems
	if s.Contains != nil {
		f.beyond = append(f.beyond, "contains")
	}
	f.minItems, f.maxItems = higher(f.minItems, s.MinItems), lower(f.maxItems, s.MaxItems)
}

func (f *facts) addScalar(s *jsonschema.Schema) {
	f.min, f.max = highest(f.min, s.Minimum), lowest(f.max, s.Maximum)
	f.above, f.below = highest(f.above, s.ExclusiveMinimum), lowest(f.below, s.ExclusiveMaximum)
	if s.MultipleOf != nil {
		f.multiple = append(f.multiple, s.MultipleOf)
	}
	f.minLength, f.maxLength = higher(f.minLength, s.MinLength), lower(f.maxLength, s.MaxLength)
	if s.Pattern != nil {
		f.patterns = append(f.patterns, s.Pattern)
	}
	if s.Format != nil {
		f.formats = append(f.formats, s.Format.Name)
	}
}

func (f *facts) addText(s *jsonschema.Schema) {
	if f.title == "" {
		f.title = s.Title
	}
	if f.description == "" {
		f.description = s.Description
	}
	if f.hint == nil {
		f.hint = s.Default
	}
	f.examples = append(f.examples, s.Examples...)
}

func (f *facts) addConditions(s *jsonschema.Schema) {
	if len(s.AnyOf) > 0 {
		f.choices = append(f.choices, choice{of: s.AnyOf, schema: s})
	}
	if len(s.OneOf) > 0 {
		f.choices = append(f.choices, choice{of: s.OneOf, exactlyOne: true, schema: s})
	}
	if s.If != nil && (s.Then != nil || s.Else != nil) || s.Not != nil ||
		len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) > 0 {
		f.conditional = append(f.conditional, s)
	}
}

func byText(a, b jsonschema.Regexp) int {
	if a.String() < b.String() {
		return -1
	}
	return 1
}

func higher(a, b *int) *int {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func lower(a, b *int) *int {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func highest(a, b *big.Rat) *big.Rat {
	if a == nil || b != nil && b.Cmp(a) > 0 {
		return b
	}
	return a
}

func lowest(a, b *big.Rat) *big.Rat {
	if a == nil || b != nil && b.Cmp(a) < 0 {
		return b
	}
	return a
}
