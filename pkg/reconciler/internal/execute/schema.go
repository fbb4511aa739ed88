// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// OpenSchema is the schema of a type in a CustomResourceDefinition, used for what the server does to an object:
// refusing it, setting defaults and dropping unknown fields. Nil changes nothing.
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

// Complete drops unknown fields of the content and sets defaults, as the server would. It returns the unknown fields,
// sorted.
func (s OpenSchema) Complete(content map[string]any) (unknown []string) {
	if s == nil {
		return nil
	}
	p := &pruning{}
	p.prune(s.root(), content, nil)
	s.root().fill(content)
	slices.Sort(p.dropped)
	return p.dropped
}

// Problems returns why the server would refuse the content, as far as the schema says so; sorted. Rules in the Common
// Expression Language do not count.
func (s OpenSchema) Problems(content map[string]any) []string {
	if s == nil {
		return nil
	}
	encoded, err := json.Marshal(lenient(map[string]any(s.root())))
	if err != nil || bytes.Contains(encoded, []byte(`"$ref"`)) {
		// The server refuses the definition, and says why.
		return nil
	}
	schema := &spec.Schema{}
	if json.Unmarshal(encoded, schema) != nil {
		// The server refuses the definition, and says why.
		return nil
	}
	var problems []string
	for _, err := range validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(content).Errors {
		problems = append(problems, strings.ReplaceAll(err.Error(), " in body", ""))
	}
	slices.Sort(problems)
	return slices.Compact(problems)
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

// lenient returns a copy of a schema without formats, of which servers ignore some, and without the types of values
// that may be integers or strings.
func lenient(node any) any {
	switch node := node.(type) {
	case OpenSchema:
		return lenient(map[string]any(node))
	case map[string]any:
		result := make(map[string]any, len(node))
		for key, child := range node {
			_, isText := child.(string)
			if isText && (key == "format" || key == "type" && node["x-kubernetes-int-or-string"] == true) {
				continue
			}
			result[key] = lenient(child)
		}
		return result
	case []any:
		result := make([]any, len(node))
		for i, child := range node {
			result[i] = lenient(child)
		}
		return result
	default:
		return node
	}
}

// pruning drops entries that are not in a schema, and collects their paths.
type pruning struct{ dropped []string }

// prune drops entries that are not in the schema, unless it preserves unknown fields.
func (p *pruning) prune(s OpenSchema, value any, path []string) {
	switch value := value.(type) {
	case map[string]any:
		embedded := s["x-kubernetes-embedded-resource"] == true
		open := s["x-kubernetes-preserve-unknown-fields"] == true || s["additionalProperties"] == true
		for key, child := range value {
			if embedded && (key == "apiVersion" || key == "kind" || key == "metadata") {
				continue
			}
			below := append(slices.Clip(path), key)
			schema, known := s.of(key)
			switch {
			case known:
				p.prune(schema, child, below)
			case open:
			default:
				delete(value, key)
				p.dropped = append(p.dropped, strings.Join(below, "."))
			}
		}
	case []any:
		if items := s.child("items"); items != nil {
			for i, item := range value {
				p.prune(items, item, append(slices.Clip(path), strconv.Itoa(i)))
			}
		}
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
