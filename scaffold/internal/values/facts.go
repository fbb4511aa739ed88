// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
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

// facts are what several schemas say together about a value that all of them describe. References and allOf are
// resolved, and so are alternatives of which one is left beside null.
type facts struct {
	schemas []*jsonschema.Schema // all that were gathered
	types   typeSet
	enum    *[]any // what is allowed, if listed

	properties map[string][]*jsonschema.Schema
	required   []string
	additional []*jsonschema.Schema
	patterned  bool // has patternProperties
	closed     bool
	items      []*jsonschema.Schema
	tuple      bool
	unique     bool

	min, max, above, below, multiple *big.Rat // above and below are exclusive
	minLength, maxLength             *int
	minItems, maxItems               *int
	minFields, maxFields             *int
	pattern, format                  *string

	choices [][]*jsonschema.Schema // anyOf and oneOf
	beyond  []string               // keywords that no type expresses

	doc   string
	hints []any // defaults and examples
}

// first returns the first one of two bounds. There is a second one only if several schemas have the same keyword.
func first[T any](f *facts, a, b *T) *T {
	if a == nil {
		return b
	}
	if b != nil {
		f.beyond = append(f.beyond, "allOf")
	}
	return a
}

func gather(schemas ...*jsonschema.Schema) *facts {
	f := &facts{types: tAll, properties: map[string][]*jsonschema.Schema{}}
	for _, s := range schemas {
		f.add(s)
	}
	slices.Sort(f.beyond)
	f.beyond = slices.Compact(f.beyond)
	return f
}

// add makes the facts those of one more schema.
func (f *facts) add(s *jsonschema.Schema) {
	if slices.Contains(f.schemas, s) {
		return
	}
	f.schemas = append(f.schemas, s)
	f.types &= ownTypes(s)
	f.enum = first(f, f.enum, enumOf(s))
	f.addObject(s)
	f.addArray(s)
	f.addScalar(s)
	f.addText(s)
	f.addBeyond(s)
	for _, part := range parts(s) {
		f.add(part)
	}
	f.addChoice("anyOf", s.AnyOf)
	f.addChoice("oneOf", s.OneOf)
}

// parts returns what a schema consists of: references and allOf.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	if s.Ref != nil {
		return append([]*jsonschema.Schema{s.Ref}, s.AllOf...)
	}
	return s.AllOf
}

func (f *facts) addObject(s *jsonschema.Schema) {
	for _, name := range sortedKeys(s.Properties) {
		f.properties[name] = append(f.properties[name], s.Properties[name])
	}
	f.required = append(f.required, s.Required...)
	additional := s.UnevaluatedProperties
	switch own := s.AdditionalProperties.(type) {
	case bool:
		f.closed = f.closed || !own
	case *jsonschema.Schema:
		additional = own
	}
	switch {
	case additional == nil:
	case additional.Bool != nil:
		f.closed = f.closed || !*additional.Bool
	default:
		f.additional = append(f.additional, additional)
	}
	f.patterned = f.patterned || len(s.PatternProperties) > 0
	f.minFields, f.maxFields = first(f, f.minFields, s.MinProperties), first(f, f.maxFields, s.MaxProperties)
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
	f.minItems, f.maxItems = first(f, f.minItems, s.MinItems), first(f, f.maxItems, s.MaxItems)
}

func (f *facts) addScalar(s *jsonschema.Schema) {
	f.min, f.max = first(f, f.min, s.Minimum), first(f, f.max, s.Maximum)
	f.above, f.below = first(f, f.above, s.ExclusiveMinimum), first(f, f.below, s.ExclusiveMaximum)
	f.multiple = first(f, f.multiple, s.MultipleOf)
	f.minLength, f.maxLength = first(f, f.minLength, s.MinLength), first(f, f.maxLength, s.MaxLength)
	if s.Pattern != nil {
		f.pattern = first(f, f.pattern, new(s.Pattern.String()))
	}
	if s.Format != nil {
		f.format = first(f, f.format, &s.Format.Name)
	}
}

func (f *facts) addText(s *jsonschema.Schema) {
	if f.doc == "" {
		f.doc = s.Description
	}
	if f.doc == "" {
		f.doc = s.Title
	}
	if s.Default != nil {
		f.hints = append(f.hints, *s.Default)
	}
	f.hints = append(f.hints, s.Examples...)
}

func (f *facts) addBeyond(s *jsonschema.Schema) {
	for keyword, present := range map[string]bool{
		"if":               s.If != nil && (s.Then != nil || s.Else != nil),
		"not":              s.Not != nil,
		"dependencies":     len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) > 0,
		"propertyNames":    s.PropertyNames != nil,
		"contains":         s.Contains != nil,
		"unevaluatedItems": s.UnevaluatedItems != nil,
		"$dynamicRef":      s.RecursiveRef != nil || s.DynamicRef != nil,
	} {
		if present {
			f.beyond = append(f.beyond, keyword)
		}
	}
}

// addChoice restricts the types to those of the alternatives. One that is left beside null holds for sure.
func (f *facts) addChoice(keyword string, alternatives []*jsonschema.Schema) {
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
	switch len(left) {
	case 0:
	case 1:
		null := f.types & tNull
		f.add(left[0])
		f.types |= null
	default:
		f.choices = append(f.choices, left)
		f.beyond = append(f.beyond, keyword)
	}
}

// names returns the properties of an object, also those that only alternatives and conditions name. Sorted.
func (f *facts) names() []string {
	names, seen := map[string]bool{}, map[*jsonschema.Schema]bool{}
	var collect func(schemas ...*jsonschema.Schema)
	collect = func(schemas ...*jsonschema.Schema) {
		for _, s := range schemas {
			if s == nil || seen[s] {
				continue
			}
			seen[s] = true
			for name := range s.Properties {
				names[name] = true
			}
			collect(slices.Concat(parts(s), s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Then, s.Else})...)
			for _, dependent := range s.DependentSchemas {
				collect(dependent)
			}
			for _, dependent := range s.Dependencies {
				if dependent, ok := dependent.(*jsonschema.Schema); ok {
					collect(dependent)
				}
			}
		}
	}
	collect(f.schemas...)
	return sortedKeys(names)
}

// typeOf returns the type of a value that was read with json.Number.
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

// ownTypes returns the types that a schema allows by itself.
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

// enumOf returns the values that a schema lists. Nil if it lists none.
func enumOf(s *jsonschema.Schema) *[]any {
	switch {
	case s.Const != nil:
		return &[]any{*s.Const}
	case s.Enum != nil:
		return &s.Enum.Values
	}
	return nil
}
