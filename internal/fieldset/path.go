// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// ParsePath is the inverse of fieldpath.Path.String, for paths whose field names have no dots and brackets, such as
// .spec.containers[name="web"].image. It also accepts names in quotes, as in .metadata.annotations["example.com/a"].
func ParsePath(text string) (fieldpath.Path, error) {
	var path fieldpath.Path
	for rest := text; rest != ""; {
		var element fieldpath.PathElement
		var err error
		switch rest[0] {
		case '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			element, rest = fieldpath.FieldNameElement(rest[1:end+1]), rest[end+1:]
		case '[':
			end := unquoted(rest, ']')
			if end < 0 {
				return nil, fmt.Errorf("invalid field path %q: missing ]", text)
			}
			element, err = parseElement(rest[1:end])
			rest = rest[end+1:]
		default:
			err = fmt.Errorf("unexpected %q", rest[0])
		}
		if err != nil {
			return nil, fmt.Errorf("invalid field path %q: %w", text, err)
		}
		path = append(path, element)
	}
	return path, nil
}

// unquoted returns the index of the first occurrence of a character outside quotes; -1 if there is none.
func unquoted(text string, char byte) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == char && !quoted:
			return i
		}
	}
	return -1
}

func parseElement(text string) (fieldpath.PathElement, error) {
	if item, ok := strings.CutPrefix(text, "="); ok {
		parsed, err := parseValue(item)
		return fieldpath.PathElement{Value: &parsed}, err
	}
	if strings.HasPrefix(text, `"`) {
		var name string
		if err := json.Unmarshal([]byte(text), &name); err != nil {
			return fieldpath.PathElement{}, fmt.Errorf("parsing name %s: %w", text, err)
		}
		return fieldpath.FieldNameElement(name), nil
	}
	if index, err := strconv.Atoi(text); err == nil {
		return fieldpath.IndexElement(index), nil
	}
	var fields value.FieldList
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		if !ok {
			return fieldpath.PathElement{}, fmt.Errorf("key %q has no value", text)
		}
		end := unquoted(rest, ',')
		if end < 0 {
			end = len(rest)
		}
		parsed, err := parseValue(rest[:end])
		if err != nil {
			return fieldpath.PathElement{}, err
		}
		fields = append(fields, value.Field{Name: name, Value: parsed})
		text = strings.TrimPrefix(rest[end:], ",")
	}
	fields.Sort()
	return fieldpath.PathElement{Key: &fields}, nil
}

func parseValue(text string) (value.Value, error) {
	var parsed any
	if err := json.Unmarshal([]byte(text), &parsed); err != nil {
		return nil, fmt.Errorf("parsing value %s: %w", text, err)
	}
	return value.NewValueInterface(parsed), nil
}

// ParsePaths parses paths that are separated by commas, in the notation of ParsePath; the first dot of a path may be
// missing.
func ParsePaths(text string) ([]fieldpath.Path, error) {
	var paths []fieldpath.Path
	for text != "" {
		end := 0
		for end < len(text) && text[end] != ',' {
			if text[end] == '[' {
				length := unquoted(text[end:], ']')
				if length < 0 {
					return nil, fmt.Errorf("invalid field path %q: missing ]", text)
				}
				end += length
			}
			end++
		}
		item := strings.TrimSpace(text[:end])
		text = strings.TrimPrefix(text[end:], ",")
		if item != "" && item[0] != '.' {
			item = "." + item
		}
		path, err := ParsePath(item)
		if err != nil {
			return nil, err
		}
		if len(path) == 0 {
			return nil, fmt.Errorf("invalid field path %q: it is empty", item)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Notation returns the text that ParsePaths parses into the path; empty if there is none, as for a list item that is
// identified by its position.
func Notation(path fieldpath.Path) string {
	var text strings.Builder
	for i, element := range path {
		switch {
		case element.FieldName != nil && isPlain(*element.FieldName):
			if i > 0 {
				text.WriteByte('.')
			}
			text.WriteString(*element.FieldName)
		case element.FieldName != nil:
			quoted, err := json.Marshal(*element.FieldName)
			if err != nil {
				return ""
			}
			fmt.Fprintf(&text, "[%s]", quoted)
		case element.Key != nil:
			var fields []string
			for _, field := range *element.Key {
				fields = append(fields, field.Name+"="+value.ToString(field.Value))
			}
			fmt.Fprintf(&text, "[%s]", strings.Join(fields, ","))
		case element.Value != nil:
			fmt.Fprintf(&text, "[=%s]", value.ToString(*element.Value))
		}
	}
	if parsed, err := ParsePaths(text.String()); err != nil || len(parsed) != 1 || !parsed[0].Equals(path) {
		return ""
	}
	return text.String()
}

// isPlain reports whether the name of a field needs no quotes.
func isPlain(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/$") == ""
}

// Ceded returns the fields at or below the given paths that other managers own, except those that identify an item of a
// list.
func Ceded(entries []metav1.ManagedFieldsEntry, manager string, paths []fieldpath.Path) ([]fieldpath.Path, error) {
	var ceded []fieldpath.Path
	err := eachOfOthers(entries, manager, func(_ metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		for field := range set.Leaves().All() {
			if IsWithin(field, paths) && !isKey(field) {
				ceded = append(ceded, slices.Clone(field))
			}
		}
	})
	return ceded, err
}

// Missing returns the paths of fields that an object does not have.
func Missing(content map[string]any, paths []fieldpath.Path) []fieldpath.Path {
	return slices.DeleteFunc(slices.Clone(paths), func(path fieldpath.Path) bool { return Exists(content, path) })
}

// isKey reports whether a field is a key of the list item that it belongs to.
func isKey(field fieldpath.Path) bool {
	last := len(field) - 1
	if last < 1 || field[last].FieldName == nil || field[last-1].Key == nil {
		return false
	}
	return slices.ContainsFunc(*field[last-1].Key, func(key value.Field) bool { return key.Name == *field[last].FieldName })
}

// IsWithin reports whether a field is one of the given ones, or below one of them.
func IsWithin(field fieldpath.Path, paths []fieldpath.Path) bool {
	return slices.ContainsFunc(paths, func(path fieldpath.Path) bool { return field.Equals(path) || hasPrefix(field, path) })
}

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
// must be removed as well.
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
