// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"encoding/json"
	"reflect"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Remove takes the fields at the given paths out of content, which is changed. Maps that become empty go as well;
// paths that do not exist are passed over.
func Remove(content map[string]any, paths []fieldpath.Path) {
	for _, path := range paths {
		remove(content, path)
	}
}

// Exists tells whether there is something at the path.
func Exists(content any, path fieldpath.Path) bool {
	for _, element := range path {
		switch node := content.(type) {
		case map[string]any:
			if element.FieldName == nil {
				return false
			}
			child, ok := node[*element.FieldName]
			if !ok {
				return false
			}
			content = child
		case []any:
			index := find(node, element)
			if index < 0 {
				return false
			}
			content = node[index]
		default:
			return false
		}
	}
	return true
}

// remove returns what is left of node, and whether it became empty.
func remove(node any, path fieldpath.Path) (any, bool) {
	if len(path) == 0 {
		return nil, true
	}
	element, rest := path[0], path[1:]
	switch node := node.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return node, false
		}
		child, ok := node[*element.FieldName]
		if !ok {
			return node, false
		}
		left, empty := remove(child, rest)
		if !empty {
			node[*element.FieldName] = left
			return node, false
		}
		delete(node, *element.FieldName)
		return node, len(node) == 0
	case []any:
		index := find(node, element)
		if index < 0 {
			return node, false
		}
		left, empty := remove(node[index], rest)
		if !empty {
			node[index] = left
			return node, false
		}
		node = slices.Delete(slices.Clone(node), index, index+1)
		return node, len(node) == 0
	default:
		return node, false
	}
}

// find returns the index of the list item that the element denotes, or -1.
func find(items []any, element fieldpath.PathElement) int {
	if element.Index == nil {
		return slices.IndexFunc(items, func(item any) bool { return selects(element, item) })
	}
	if *element.Index < 0 || *element.Index >= len(items) {
		return -1
	}
	return *element.Index
}

// selects tells whether a path element denotes the given list item.
func selects(element fieldpath.PathElement, item any) bool {
	switch {
	case element.Value != nil:
		return equal(*element.Value, item)
	case element.Key != nil:
		fields, ok := item.(map[string]any)
		if !ok {
			return false
		}
		named := false
		for _, key := range *element.Key {
			// A key that the item lacks has its default, which only the schema knows.
			actual, ok := fields[key.Name]
			if ok && !equal(key.Value, actual) {
				return false
			}
			named = named || ok
		}
		return named
	default:
		return false
	}
}

// equal compares by JSON, in which integers of different Go types are the same.
func equal(expected value.Value, actual any) bool {
	if reflect.DeepEqual(expected.Unstructured(), actual) {
		return true
	}
	a, errA := json.Marshal(expected.Unstructured())
	b, errB := json.Marshal(actual)
	return errA == nil && errB == nil && string(a) == string(b)
}
