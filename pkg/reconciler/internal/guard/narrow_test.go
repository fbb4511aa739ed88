// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestNarrows compares schemas, which are written as in a definition.
func TestNarrows(t *testing.T) {
	t.Parallel()
	schema := func(text string) *apiextensionsv1.JSONSchemaProps {
		parsed := &apiextensionsv1.JSONSchemaProps{}
		if err := yaml.UnmarshalStrict([]byte(text), parsed); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return parsed
	}
	for _, tc := range []struct {
		now, next string
		want      bool
	}{
		{"{type: integer}", "{type: integer, description: a number}", false},
		{"{type: integer}", "{type: number}", false},
		{"{type: number}", "{type: integer}", true},
		{"{type: integer}", "{x-kubernetes-int-or-string: true}", false},
		{"{type: boolean}", "{x-kubernetes-int-or-string: true}", true},
		{"{type: number}", "{x-kubernetes-int-or-string: true}", true},
		{"{x-kubernetes-preserve-unknown-fields: true}", "{x-kubernetes-int-or-string: true}", true},
		{"{type: string}", "{x-kubernetes-preserve-unknown-fields: true}", false},
		{"{type: string, nullable: true}", "{type: string}", true},
		{"{type: integer, minimum: 1}", "{type: integer, minimum: 0}", false},
		{"{type: integer, minimum: 1}", "{type: integer, minimum: 2}", true},
		{"{type: integer, maximum: 3}", "{type: integer, maximum: 2}", true},
		{"{type: integer, minimum: 1}", "{type: integer, minimum: 1, exclusiveMinimum: true}", true},
		{"{type: integer}", "{type: integer, multipleOf: 2}", true},
		{"{type: string, maxLength: 9}", "{type: string}", false},
		{"{type: string}", "{type: string, pattern: a}", true},
		{"{type: string}", "{type: string, format: date}", true},
		{"{type: string, enum: [a, b]}", "{type: string, enum: [a, b, c]}", false},
		{"{type: string, enum: [a, b]}", "{type: string, enum: [a]}", true},
		{"{type: string}", "{type: string, enum: [a]}", true},
		{"{type: string}", "{type: string, default: a}", true},
		{"{type: object}", "{type: object, properties: {a: {type: string}}}", false},
		{"{type: object, properties: {a: {type: string}}}", "{type: object}", true},
		{"{type: object}", "{type: object, required: [a], properties: {a: {type: string}}}", true},
		{"{type: object, minProperties: 1}", "{type: object, minProperties: 2}", true},
		{"{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}", true},
		{"{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object, additionalProperties: {type: string}}", true},
		{"{type: object, additionalProperties: {type: string}}", "{type: object, additionalProperties: {type: string, maxLength: 3}}", true},
		{"{type: object, additionalProperties: {type: string}}", "{type: object}", true},
		{"{type: array, items: {type: string}}", "{type: array, items: {type: string, minLength: 1}}", true},
		{"{type: array, items: {type: string}}", "{type: array, items: {type: string}, maxItems: 3}", true},
		{"{type: array, items: {type: string}}", "{type: array, items: {type: string}, x-kubernetes-list-type: set}", true},
		{"{type: array, items: {type: string}, x-kubernetes-list-type: set}", "{type: array, items: {type: string}, x-kubernetes-list-type: atomic}", false},
		{"{type: object}", "{type: object, x-kubernetes-validations: [{rule: self.a > 1}]}", true},
		{"{type: object, x-kubernetes-validations: [{rule: self.a > 1}]}", "{type: object, x-kubernetes-validations: [{rule: self.a > 1, message: no}]}", false},
		{"{type: object}", "{type: object, anyOf: [{required: [a]}]}", true},
		{"{type: object}", "{type: object, not: {required: [a]}}", true},
	} {
		if got := narrows(schema(tc.now), schema(tc.next)); got != tc.want {
			t.Errorf("%s to %s: %t", tc.now, tc.next, got)
		}
	}
}
