// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// OpenSchema is the schema of a type in a CustomResourceDefinition, used for what the server does to a stored object: setting
// defaults and dropping unknown fields. Nil changes nothing.
type OpenSchema map[string]any

// OpenSchemas returns the schemas in a CustomResourceDefinition by version.
func OpenSchemas(definition *unstructured.Unstructured) map[string]OpenSchema {
	schemas := map[string]OpenSchema{}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		version, _ := version.(map[string]any)
		name, _ := version["name"].(string)
		schemas[name], _, _ = unstructured.NestedMap(version, "schema", "openAPIV3Schema")
	}
	return schemas
}

// Complete drops unknown fields of the content and sets defaults, as the server would.
func (s OpenSchema) Complete(content map[string]any) {
	if s == nil {
		return
	}
	s.root().prune(content)
	s.root().fill(content)
}

// root adds the fields that each object has, whether or not its schema declares them.
func (s OpenSchema) root() OpenSchema {
	properties := map[string]any{}
	for name, property := range s.child("properties") {
		properties[name] = property
	}
	open := map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	properties["apiVersion"], properties["kind"], properties["metadata"] = open, open, open
	root := OpenSchema{}
	for key, value := range s {
		root[key] = value
	}
	root["properties"] = properties
	return root
}

func (s OpenSchema) child(key string) OpenSchema {
	child, _ := s[key].(map[string]any)
	return child
}

// of returns the schema of a map's entry, and whether it has one.
func (s OpenSchema) of(key string) (OpenSchema, bool) {
	if property, ok := s.child("properties")[key].(map[string]any); ok {
		return property, true
	}
	additional, ok := s["additionalProperties"].(map[string]any)
	return additional, ok
}

// prune drops entries that are not in the schema, unless it preserves unknown fields.
func (s OpenSchema) prune(value any) {
	switch value := value.(type) {
	case map[string]any:
		embedded := s["x-kubernetes-embedded-resource"] == true
		open := s["x-kubernetes-preserve-unknown-fields"] == true || s["additionalProperties"] == true
		for key, child := range value {
			schema, known := s.of(key)
			switch {
			case known:
				schema.prune(child)
			case open, embedded && (key == "apiVersion" || key == "kind" || key == "metadata"):
			default:
				delete(value, key)
			}
		}
	case []any:
		for _, item := range value {
			s.child("items").pruneKnown(item)
		}
	}
}

func (s OpenSchema) pruneKnown(value any) {
	if s != nil {
		s.prune(value)
	}
}

// fill sets defaults for fields that are absent, or null although they are not nullable.
func (s OpenSchema) fill(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key := range s.child("properties") {
			property := s.child("properties").child(key)
			present, ok := value[key]
			if fallback, has := property["default"]; has && (!ok || present == nil && property["nullable"] != true) {
				value[key] = Integers(runtime.DeepCopyJSONValue(fallback))
			}
		}
		for key, child := range value {
			if schema, ok := s.of(key); ok {
				schema.fill(child)
			}
		}
	case []any:
		items := s.child("items")
		for _, item := range value {
			items.fill(item)
		}
	}
}
