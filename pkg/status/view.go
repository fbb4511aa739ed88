// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// view reads an object without trusting its form: a field that is missing or of another type reads as its default.
type view struct {
	object *unstructured.Unstructured
	kind   schema.GroupKind
}

func newView(object *unstructured.Unstructured) view {
	return view{object: object, kind: object.GroupVersionKind().GroupKind()}
}

func (v view) is(group string, kind string) bool {
	return v.kind.Group == group && v.kind.Kind == kind
}

func (v view) number(fallback int64, path ...string) int64 {
	value, found := v.field(path...)
	if !found {
		return fallback
	}
	switch value := value.(type) {
	case int64:
		return value
	case float64:
		return int64(value)
	}
	return fallback
}

func (v view) text(path ...string) string {
	value, _ := v.field(path...)
	text, _ := value.(string)
	return text
}

func (v view) field(path ...string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(v.object.Object, path...)
	return value, found && err == nil
}

// condition returns the first condition of the given type; present is false if there is none.
func (v view) condition(name string) condition {
	value, _ := v.field("status", "conditions")
	items, _ := value.([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		if found, _ := fields["type"].(string); fields != nil && found == name {
			return condition{name: name, present: true, fields: fields}
		}
	}
	return condition{name: name}
}

// condition is one entry of status.conditions.
type condition struct {
	name    string
	present bool
	fields  map[string]any
}

func (c condition) text(field string) string {
	text, _ := c.fields[field].(string)
	return text
}

func (c condition) isTrue() bool {
	return c.text("status") == "True"
}

func (c condition) observedGeneration() (int64, bool) {
	generation, ok := c.fields["observedGeneration"].(int64)
	return generation, ok
}

// describe returns the condition as text, for example "Ready is False (Crashing): exit code 1".
func (c condition) describe() string {
	if !c.present {
		return "condition " + c.name + " is missing"
	}
	status := c.text("status")
	if status == "" {
		status = "Unknown"
	}
	return c.name + " is " + status + c.because()
}

// because returns reason and message as the end of a sentence, or nothing.
func (c condition) because() string {
	words := ""
	if reason := c.text("reason"); reason != "" {
		words = " (" + reason + ")"
	}
	if message := c.text("message"); message != "" {
		words += ": " + message
	}
	return words
}
