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

// Remove removes the fields at the given paths from content, and maps and lists that become empty, unless these are
// members of keep, which may be nil. It ignores paths that do not exist.
func Remove(content map[string]any, paths []fieldpath.Path, keep *fieldpath.Set) {
	if keep == nil {
		keep = fieldpath.NewSet()
	}
	for _, path := range paths {
		remove(content, path, 0, keep)
	}
}

// Exists reports whether content has a field at the path.
func Exists(content any, path fieldpath.Path) bool {
	_, ok := Lookup(content, path)
	return ok
}

// Lookup returns the value of the field at the path, which the caller must not change; ok is false if there is none.
func Lookup(content any, path fieldpath.Path) (found any, ok bool) {
	for _, element := range path {
		switch node := content.(type) {
		case map[string]any:
			if element.FieldName == nil {
				return nil, false
			}
			child, ok := node[*element.FieldName]
			if !ok {
				return nil, false
			}
			content = child
		case []any:
			index := find(node, element)
			if index < 0 {
				return nil, false
			}
			content = node[index]
		default:
			return nil, false
		}
	}
	return content, true
}

// Same reports whether two objects have equal values at the path, or both have none.
func Same(a, b any, path fieldpath.Path) bool {
	one, hasOne := Lookup(a, path)
	other, hasOther := Lookup(b, path)
	return hasOne == hasOther && equal(value.NewValueInterface(one), other)
}

// remove removes the field at path from node, which is at path[:depth]. It returns the rest of node, and whether node
// is to be removed as well.
func remove(node any, path fieldpath.Path, depth int, keep *fieldpath.Set) (left any, gone bool) {
	if depth == len(path) {
		return nil, true
	}
	element := path[depth]
	switch node := node.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return node, false
		}
		child, ok := node[*element.FieldName]
		if !ok {
			return node, false
		}
		if child, gone = remove(child, path, depth+1, keep); gone {
			delete(node, *element.FieldName)
		} else {
			node[*element.FieldName] = child
		}
		return node, len(node) == 0 && !keep.Has(path[:depth])
	case []any:
		index := find(node, element)
		if index < 0 {
			return node, false
		}
		child, gone := remove(node[index], path, depth+1, keep)
		if !gone {
			node[index] = child
			return node, false
		}
		node = slices.Delete(slices.Clone(node), index, index+1)
		return node, len(node) == 0 && !keep.Has(path[:depth])
	default:
		return node, false
	}
}

// find returns the index of the list item that the element identifies, or -1.
func find(items []any, element fieldpath.PathElement) int {
	if element.Index == nil {
		return slices.IndexFunc(items, func(item any) bool { return selects(element, item) })
	}
	if *element.Index < 0 || *element.Index >= len(items) {
		return -1
	}
	return *element.Index
}

// selects reports whether a path element identifies the given list item.
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
			// A missing key has its default value, which only the schema knows.
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

// equal compares as JSON, where integers of different Go types are equal.
func equal(expected value.Value, actual any) bool {
	if reflect.DeepEqual(expected.Unstructured(), actual) {
		return true
	}
	a, errA := json.Marshal(expected.Unstructured())
	b, errB := json.Marshal(actual)
	return errA == nil && errB == nil && string(a) == string(b)
}
