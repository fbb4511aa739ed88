// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/manifest"
)

// UnstructuredContentEditor edits the content of an unstructured object. A field is given by its path: the names of the
// fields that lead to it, so that "spec", "replicas" stands for spec.replicas.
//
// Set and Ensure methods create the maps on the path that are missing or null. They return an error if the path is
// empty or leads through a value that is not a map. Values are converted to what unstructured objects consist of: an
// int becomes an int64, a []string a []any. Types that have no JSON form are an error.
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
	plain, err := toPlain(value, path)
	if err != nil {
		return err
	}
	parent, err := e.parent(path)
	if err != nil {
		return err
	}
	parent[path[len(path)-1]] = plain
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
	if len(path) == 0 {
		return
	}
	current := e.content
	for _, name := range path[:len(path)-1] {
		// A value that is not a map has no fields: what is to be removed is absent.
		current, _ = current[name].(map[string]any)
	}
	delete(current, path[len(path)-1])
}

// EnsureNestedStringMapEntry sets an entry of a map of strings. The path is that of the map.
func (e *UnstructuredContentEditor) EnsureNestedStringMapEntry(key, value string, path ...string) error {
	if len(path) == 0 {
		return errNoPath
	}
	return e.SetNestedField(value, append(slices.Clone(path), key)...)
}

// RemoveNestedStringMapEntry removes an entry of a map of strings. The path is that of the map. The map stays, even if
// it is empty then.
func (e *UnstructuredContentEditor) RemoveNestedStringMapEntry(key string, path ...string) {
	if len(path) > 0 {
		e.RemoveNestedField(append(slices.Clone(path), key)...)
	}
}

var errNoPath = errors.New("the path of a field is empty; must be one or more names of fields")

// parent returns the map that has the last field of a path, and creates what is missing. If it returns an error, it has
// created nothing: an existing value that is not a map lies above all that is missing.
func (e *UnstructuredContentEditor) parent(path []string) (map[string]any, error) {
	current := e.content
	for i, name := range path[:len(path)-1] {
		next, isMap := current[name].(map[string]any)
		if current[name] != nil && !isMap {
			// The value itself might be secret.
			return nil, fmt.Errorf("setting field %s: the value of %s has type %T; must be a map", join(path), join(path[:i+1]), current[name])
		}
		if next == nil {
			next = map[string]any{}
			current[name] = next
		}
		current = next
	}
	return current, nil
}

// toPlain returns a copy of a value that consists of what unstructured objects consist of.
func toPlain(value any, path []string) (any, error) {
	if len(path) == 0 {
		return nil, errNoPath
	}
	name := join(path)
	plain, err := manifest.Normalize(map[string]any{name: value})
	if err != nil {
		return nil, fmt.Errorf("setting field %s: %w; must be a value that has a JSON form", name, err)
	}
	return plain[name], nil
}

func join(path []string) string { return strings.Join(path, ".") }
