// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/manifest"
)

// UnstructuredContentEditor edits the content of an unstructured object. Fields are addressed by path, one argument per
// field name: "spec", "replicas" stands for spec.replicas.
//
// Set and Ensure methods create the maps on the path that are missing or null. They return an error if the path is
// empty or leads through a value that is not a map. Values are converted to the types of unstructured objects: an int
// becomes an int64, a []string becomes a []any. Types without a JSON form are an error.
type UnstructuredContentEditor struct {
	content map[string]any
}

// NewUnstructuredContentEditor returns an editor of the given content, such as the field Object of an
// *unstructured.Unstructured.
func NewUnstructuredContentEditor(content map[string]any) *UnstructuredContentEditor {
	if content == nil {
		content = map[string]any{}
	}
	return &UnstructuredContentEditor{content: content}
}

// Raw returns the edited content.
func (e *UnstructuredContentEditor) Raw() map[string]any { return e.content }

// SetNestedField sets a field to a value of any type that has a JSON form; nil sets it to null.
func (e *UnstructuredContentEditor) SetNestedField(value any, path ...string) error {
	if len(path) == 0 {
		return errNoPath
	}
	field, last := strings.Join(path, "."), len(path)-1
	plain, err := manifest.Normalize(map[string]any{field: value})
	if err != nil {
		return fmt.Errorf("setting field %s: %w; must be a value that has a JSON form", field, err)
	}
	// An existing value that is not a map is above all missing ones, so an error leaves the content unchanged.
	parent := e.content
	for i, name := range path[:last] {
		next, isMap := parent[name].(map[string]any)
		if parent[name] != nil && !isMap {
			// The value itself might be secret.
			return fmt.Errorf("setting field %s: the value of %s has type %T; must be a map", field, strings.Join(path[:i+1], "."), parent[name])
		}
		if next == nil {
			next = map[string]any{}
			parent[name] = next
		}
		parent = next
	}
	parent[path[last]] = plain[field]
	return nil
}

// SetNestedString sets a field to a string.
func (e *UnstructuredContentEditor) SetNestedString(value string, path ...string) error {
	return e.SetNestedField(value, path...)
}

// SetNestedBool sets a field to a boolean.
func (e *UnstructuredContentEditor) SetNestedBool(value bool, path ...string) error {
	return e.SetNestedField(value, path...)
}

// SetNestedInt64 sets a field to an integer.
func (e *UnstructuredContentEditor) SetNestedInt64(value int64, path ...string) error {
	return e.SetNestedField(value, path...)
}

// SetNestedFloat64 sets a field to a number. JSON has neither NaN nor infinity, so these are an error.
func (e *UnstructuredContentEditor) SetNestedFloat64(value float64, path ...string) error {
	return e.SetNestedField(value, path...)
}

// SetNestedStringMap sets a field to a map of strings; nil sets an empty one.
func (e *UnstructuredContentEditor) SetNestedStringMap(value map[string]string, path ...string) error {
	entries := make(map[string]any, len(value))
	for key, entry := range value {
		entries[key] = entry
	}
	return e.SetNestedField(entries, path...)
}

// SetNestedSlice sets a field to a list; nil sets an empty one.
func (e *UnstructuredContentEditor) SetNestedSlice(value []any, path ...string) error {
	return e.SetNestedField(value, path...)
}

// SetNestedMap sets a field to a map; nil sets an empty one.
func (e *UnstructuredContentEditor) SetNestedMap(value map[string]any, path ...string) error {
	return e.SetNestedField(value, path...)
}

// RemoveNestedField removes a field.
func (e *UnstructuredContentEditor) RemoveNestedField(path ...string) {
	if len(path) > 0 {
		unstructured.RemoveNestedField(e.content, path...)
	}
}

// EnsureNestedStringMapEntry sets an entry of the map of strings at the path.
func (e *UnstructuredContentEditor) EnsureNestedStringMapEntry(key, value string, path ...string) error {
	if len(path) == 0 {
		return errNoPath
	}
	return e.SetNestedField(value, append(slices.Clone(path), key)...)
}

// RemoveNestedStringMapEntry removes an entry of the map of strings at the path. The map stays, even if it becomes
// empty.
func (e *UnstructuredContentEditor) RemoveNestedStringMapEntry(key string, path ...string) {
	if len(path) > 0 {
		e.RemoveNestedField(append(slices.Clone(path), key)...)
	}
}

var errNoPath = errors.New("the path of a field is empty; must be one or more names of fields")
