// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"encoding/json"
	"math/big"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

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

// possible returns the types that a schema allows, through references and alternatives.
func possible(s *jsonschema.Schema) typeSet { return possibleTo(s, nil) }

func possibleTo(s *jsonschema.Schema, above []*jsonschema.Schema) typeSet {
	if slices.Contains(above, s) || len(above) > maxDepth {
		return tAll
	}
	if s.Bool != nil && !*s.Bool {
		return 0
	}
	above = append(above, s)
	types := ownTypes(s)
	for _, part := range parts(s) {
		types &= possibleTo(part, above)
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(alternatives) == 0 {
			continue
		}
		var union typeSet
		for _, alternative := range alternatives {
			union |= possibleTo(alternative, above)
		}
		types &= union
	}
	return types
}

// fold resolves the alternatives that need no rule: those that no value can take, and those that only list types or values.
func (f *facts) fold() {
	for range maxDepth {
		pending := f.choices
		f.choices = nil
		progress := false
		for _, c := range pending {
			if f.resolve(&c) {
				progress = true
				continue
			}
			f.choices = append(f.choices, c)
		}
		if !progress {
			break
		}
	}
	if f.listed {
		f.enum = slices.DeleteFunc(f.enum, func(value any) bool { return typeOf(value)&f.types == 0 })
		f.types &= typesOf(f.enum)
	}
}

// resolve reports whether a choice is part of the facts now, so that it needs no rule.
func (f *facts) resolve(c *choice) bool {
	var union typeSet
	for _, alternative := range c.of {
		union |= possible(alternative)
	}
	f.types &= union
	var left []*jsonschema.Schema
	for _, alternative := range c.of {
		types := possible(alternative) & f.types
		if types != 0 && types != tNull {
			left = append(left, alternative)
		}
	}
	c.of = left
	switch {
	case len(left) == 0:
		return true
	case len(left) == 1:
		// Null is among the types already, if the other alternative was that.
		nullable := f.types & tNull
		f.add(left[0])
		f.types |= nullable
		return true
	case !slices.ContainsFunc(left, func(s *jsonschema.Schema) bool { return !only(s, "type") || s.Types == nil }):
		return true
	case !slices.ContainsFunc(left, func(s *jsonschema.Schema) bool {
		return !only(s, "type", "enum", "const") || s.Types == nil && s.Const == nil && s.Enum == nil
	}):
		return f.resolveEnum(left)
	}
	return !c.exactlyOne && slices.ContainsFunc(left, func(s *jsonschema.Schema) bool { return only(s) })
}

// resolveEnum makes one list of alternatives that list values.
func (f *facts) resolveEnum(alternatives []*jsonschema.Schema) bool {
	var values []any
	for _, s := range alternatives {
		switch {
		case s.Const != nil:
			values = append(values, *s.Const)
		case s.Enum != nil:
			values = append(values, s.Enum.Values...)
		default:
			return false
		}
	}
	if f.types&tNull != 0 {
		values = append(values, nil)
	}
	f.restrict(values)
	return true
}

// only reports whether a schema has no keywords that restrict values, but those named.
func only(s *jsonschema.Schema, allowed ...string) bool {
	return !slices.ContainsFunc(keywords(s), func(k string) bool { return !slices.Contains(allowed, k) })
}

// keywords returns the keywords of a schema that restrict values.
func keywords(s *jsonschema.Schema) []string {
	if s.Bool != nil {
		if *s.Bool {
			return nil
		}
		return []string{"false"}
	}
	additional, isBool := s.AdditionalProperties.(bool)
	present := []struct {
		name string
		has  bool
	}{
		{"type", s.Types != nil},
		{"enum", s.Enum != nil},
		{"const", s.Const != nil},
		{"$ref", len(parts(s)) > len(s.AllOf)},
		{"allOf", len(s.AllOf) > 0},
		{"anyOf", len(s.AnyOf) > 0},
		{"oneOf", len(s.OneOf) > 0},
		{"not", s.Not != nil},
		{"if", s.If != nil && (s.Then != nil || s.Else != nil)},
		{"format", s.Format != nil},
		{"minProperties", s.MinProperties != nil},
		{"maxProperties", s.MaxProperties != nil},
		{"required", len(s.Required) > 0},
		{"propertyNames", s.PropertyNames != nil},
		{"properties", len(s.Properties) > 0},
		{"patternProperties", len(s.PatternProperties) > 0},
		{"additionalProperties", s.AdditionalProperties != nil && (!isBool || !additional)},
		{"unevaluatedProperties", s.UnevaluatedProperties != nil},
		{"dependencies", len(s.Dependencies) > 0},
		{"dependentRequired", len(s.DependentRequired) > 0},
		{"dependentSchemas", len(s.DependentSchemas) > 0},
		{"minItems", s.MinItems != nil},
		{"maxItems", s.MaxItems != nil},
		{"uniqueItems", s.UniqueItems},
		{"contains", s.Contains != nil},
		{"items", s.Items != nil || s.Items2020 != nil || len(s.PrefixItems) > 0},
		{"unevaluatedItems", s.UnevaluatedItems != nil},
		{"minLength", s.MinLength != nil},
		{"maxLength", s.MaxLength != nil},
		{"pattern", s.Pattern != nil},
		{"minimum", s.Minimum != nil},
		{"maximum", s.Maximum != nil},
		{"exclusiveMinimum", s.ExclusiveMinimum != nil},
		{"exclusiveMaximum", s.ExclusiveMaximum != nil},
		{"multipleOf", s.MultipleOf != nil},
	}
	var names []string
	for _, k := range present {
		if k.has {
			names = append(names, k.name)
		}
	}
	return names
}
