// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// OpenSchema is the schema of a type in a CustomResourceDefinition, as far as it says what the server does to an object that it
// stores: defaulting, and dropping what it does not know. Nil is the schema of which nothing is known.
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

// Complete does to the content of an object what the server would.
func (s OpenSchema) Complete(content map[string]any) {
	if s == nil {
		return
	}
	s.root().prune(content)
	s.root().fill(content)
}

// root adds what each object has, whether or not its schema says so.
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

// of returns the schema of an entry of a map, and whether there is one.
func (s OpenSchema) of(key string) (OpenSchema, bool) {
	if property, ok := s.child("properties")[key].(map[string]any); ok {
		return property, true
	}
	additional, ok := s["additionalProperties"].(map[string]any)
	return additional, ok
}

// Prune drops entries that the schema does not know, unless it says that these are preserved.
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

// fill sets defaults for what is absent, and for what is null although it must not be.
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
