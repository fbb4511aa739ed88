// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"reflect"
	"slices"

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
	isAny := next.Type == "" && next.XPreserveUnknownFields != nil || next.XIntOrString
	return now.Type != next.Type && !isAny && (now.Type != "integer" || next.Type != "number") ||
		now.Nullable && !next.Nullable || now.XIntOrString && !next.XIntOrString || !now.XEmbeddedResource && next.XEmbeddedResource
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
	if slices.ContainsFunc(next.Required, func(name string) bool { return !slices.Contains(now.Required, name) }) {
		return true
	}
	// Fields that were unknown, and so allowed to have any value.
	isOpen := now.XPreserveUnknownFields != nil && *now.XPreserveUnknownFields || now.AdditionalProperties != nil
	for name, property := range next.Properties {
		former, known := now.Properties[name]
		if known && narrows(&former, &property) || !known && isOpen {
			return true
		}
	}
	return false
}

// narrowsOthers is narrows for fields without a schema of their own.
func narrowsOthers(now, next *apiextensionsv1.JSONSchemaProps) bool {
	if next.AdditionalProperties == nil || next.AdditionalProperties.Schema == nil {
		return false
	}
	if now.AdditionalProperties == nil {
		return len(now.Properties) > 0
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
	return now.Items != nil && next.Items != nil && narrows(now.Items.Schema, next.Items.Schema)
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
