// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// ParsePaths parses paths that are separated by commas, in the notation of ParsePath; the first dot of a path may be
// missing.
func ParsePaths(text string) ([]fieldpath.Path, error) {
	var paths []fieldpath.Path
	for text != "" {
		end := 0
		for end < len(text) && text[end] != ',' {
			if text[end] == '[' {
				length := closing(text[end:])
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

// Notation returns the text from which ParsePaths reads a path; empty if there is none, such as for an item of a list
// by its position.
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
