// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
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

// facts are the schemas that describe a value together: those that are given, and what they refer to by references, by
// allOf, and by alternatives of which one is left beside null.
type facts struct {
	schemas []*jsonschema.Schema
	types   typeSet
	choices [][]*jsonschema.Schema // several alternatives each
	// conditional means that there are keywords that no type expresses.
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

// parts returns what a schema consists of: references and allOf.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	if s.Ref != nil {
		return append([]*jsonschema.Schema{s.Ref}, s.AllOf...)
	}
	return s.AllOf
}

// addChoice restricts the types to those of the alternatives. One that is left beside null holds for sure.
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

// first returns a keyword of the first schema that has it. If several have it, no type expresses that.
func first[T any](f *facts, keyword func(s *jsonschema.Schema) *T) *T {
	var found *T
	for _, s := range f.schemas {
		if value := keyword(s); value != nil {
			f.conditional = f.conditional || found != nil
			found = cmp.Or(found, value)
		}
	}
	return found
}

// all returns what all schemas have.
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

// additional returns the schemas of further fields, and whether these are forbidden.
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

// items returns the schemas of the elements of a list. A tuple has elements with schemas of their own.
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
