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

// Remove takes the fields at the given paths out of content, which is changed. Maps and lists that become empty go as well,
// unless they are themselves members of keep, which may be nil; paths that do not exist are passed over.
func Remove(content map[string]any, paths []fieldpath.Path, keep *fieldpath.Set) {
	if keep == nil {
		keep = fieldpath.NewSet()
	}
	for _, path := range paths {
		remove(content, path, 0, keep)
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

// remove takes what is at path out of node, which is what path[:depth] denotes. It returns what is left of node, and
// whether that is nothing that has to stay.
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
