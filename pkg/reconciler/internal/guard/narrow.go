// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// narrows reports whether an object that is valid by one schema may be invalid by the next one. It may report true
// although there is no such object.
func narrows(now, next *apiextensionsv1.JSONSchemaProps) bool {
	if next == nil || reflect.DeepEqual(now, next) {
		return false
	}
	return now == nil || slices.ContainsFunc([]func(now, next *apiextensionsv1.JSONSchemaProps) bool{
		narrowsType, narrowsNumbers, narrowsTexts, narrowsFields, narrowsOthers, narrowsItems, narrowsRules,
	}, func(narrows func(now, next *apiextensionsv1.JSONSchemaProps) bool) bool { return narrows(now, next) })
}

func narrowsType(now, next *apiextensionsv1.JSONSchemaProps) bool {
	return !allowsType(now, next) || now.Nullable && !next.Nullable || !now.XEmbeddedResource && next.XEmbeddedResource
}

// allowsType reports whether values of the type of one schema have the type of the next one.
func allowsType(now, next *apiextensionsv1.JSONSchemaProps) bool {
	switch {
	case next.XIntOrString:
		return now.XIntOrString || now.Type == "string" || now.Type == "integer"
	case now.XIntOrString:
		return false
	case now.Type == next.Type:
		return true
	default:
		return next.Type == "" && preserves(next) || now.Type == "integer" && next.Type == "number"
	}
}

func narrowsNumbers(now, next *apiextensionsv1.JSONSchemaProps) bool {
	return raises(now.Minimum, next.Minimum, 1) || raises(now.Maximum, next.Maximum, -1) ||
		!now.ExclusiveMinimum && next.ExclusiveMinimum || !now.ExclusiveMaximum && next.ExclusiveMaximum ||
		next.MultipleOf != nil && !reflect.DeepEqual(now.MultipleOf, next.MultipleOf)
}

func narrowsTexts(now, next *apiextensionsv1.JSONSchemaProps) bool {
	lacks := func(value apiextensionsv1.JSON) bool {
		return !slices.ContainsFunc(next.Enum, func(other apiextensionsv1.JSON) bool { return string(value.Raw) == string(other.Raw) })
	}
	return raises(now.MinLength, next.MinLength, 1) || raises(now.MaxLength, next.MaxLength, -1) ||
		next.Pattern != "" && next.Pattern != now.Pattern || next.Format != "" && next.Format != now.Format ||
		next.Enum != nil && (now.Enum == nil || slices.ContainsFunc(now.Enum, lacks))
}

// raises reports whether the next limit excludes values that the present one allows; the direction is 1 for a minimum,
// and -1 for a maximum.
func raises[N cmp.Ordered](now, next *N, direction int) bool {
	return next != nil && (now == nil || cmp.Compare(*next, *now) == direction)
}

func narrowsFields(now, next *apiextensionsv1.JSONSchemaProps) bool {
	if raises(now.MinProperties, next.MinProperties, 1) || raises(now.MaxProperties, next.MaxProperties, -1) {
		return true
	}
	// A default may contradict a rule; and without it, a required field may be missing.
	if !reflect.DeepEqual(now.Default, next.Default) {
		return true
	}
	if slices.ContainsFunc(next.Required, func(name string) bool { return !slices.Contains(now.Required, name) }) {
		return true
	}
	// Fields that were unknown, and so allowed to have any value.
	isOpen := preserves(now) || now.AdditionalProperties != nil
	for name, property := range next.Properties {
		former, known := now.Properties[name]
		if known && narrows(&former, &property) || !known && isOpen {
			return true
		}
	}
	// A field that goes may be what a rule requires.
	for name := range now.Properties {
		if _, stays := next.Properties[name]; !stays {
			return true
		}
	}
	return isOpen && !preserves(next) && next.AdditionalProperties == nil
}

func preserves(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
}

// lostFields returns the paths of the fields of one schema that objects lose when they are stored by the next one.
func lostFields(now, next *apiextensionsv1.JSONSchemaProps, path []string) []string {
	if now == nil || next == nil || preserves(next) || len(path) > maxDepth {
		return nil
	}
	var lost []string
	for _, name := range slices.Sorted(maps.Keys(now.Properties)) {
		former, field := now.Properties[name], append(slices.Clone(path), name)
		property, known := next.Properties[name]
		switch {
		case known:
			lost = append(lost, lostFields(&former, &property, field)...)
		case next.AdditionalProperties == nil && (len(path) > 0 || !isInEachObject(name)):
			lost = append(lost, strings.Join(field, "."))
		}
	}
	if preserves(now) {
		lost = append(lost, strings.Join(append(slices.Clone(path), "*"), "."))
	}
	return slices.Concat(lost, lostFields(itemsOf(now), itemsOf(next), path), lostFields(othersOf(now), othersOf(next), path))
}

func isInEachObject(field string) bool {
	return field == "metadata" || field == "apiVersion" || field == "kind"
}

func itemsOf(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if schema.Items == nil {
		return nil
	}
	return schema.Items.Schema
}

func othersOf(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if schema.AdditionalProperties == nil {
		return nil
	}
	return schema.AdditionalProperties.Schema
}

// maxDepth is the maximum depth of a structural schema that is looked at.
const maxDepth = 100

// narrowsOthers is narrows for fields without a schema of their own.
func narrowsOthers(now, next *apiextensionsv1.JSONSchemaProps) bool {
	if next.AdditionalProperties == nil || next.AdditionalProperties.Schema == nil {
		return false
	}
	if now.AdditionalProperties == nil {
		return len(now.Properties) > 0 || preserves(now)
	}
	return narrows(now.AdditionalProperties.Schema, next.AdditionalProperties.Schema)
}

func narrowsItems(now, next *apiextensionsv1.JSONSchemaProps) bool {
	if raises(now.MinItems, next.MinItems, 1) || raises(now.MaxItems, next.MaxItems, -1) || !now.UniqueItems && next.UniqueItems {
		return true
	}
	// Lists that become sets or maps must not have duplicates.
	isKeyed := next.XListType != nil && *next.XListType != "atomic"
	if isKeyed && (!reflect.DeepEqual(now.XListType, next.XListType) || !slices.Equal(now.XListMapKeys, next.XListMapKeys)) {
		return true
	}
	return now.Items != nil && narrows(itemsOf(now), itemsOf(next))
}

func narrowsRules(now, next *apiextensionsv1.JSONSchemaProps) bool {
	added := slices.ContainsFunc(next.XValidations, func(rule apiextensionsv1.ValidationRule) bool {
		return !slices.ContainsFunc(now.XValidations, func(former apiextensionsv1.ValidationRule) bool { return former.Rule == rule.Rule })
	})
	return added || differs(now.AllOf, next.AllOf) || differs(now.AnyOf, next.AnyOf) || differs(now.OneOf, next.OneOf) ||
		next.Not != nil && !reflect.DeepEqual(now.Not, next.Not)
}

func differs(now, next []apiextensionsv1.JSONSchemaProps) bool {
	return len(next) > 0 && !reflect.DeepEqual(now, next)
}
