// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

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
			end := closing(rest)
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

// closing returns the index of the bracket that closes the first one, ignoring brackets in quotes; -1 if there is none.
func closing(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ']':
			if !quoted {
				return i
			}
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
		end := separator(rest)
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

// separator returns the index of the first comma outside quotes, or the length.
func separator(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			return i
		}
	}
	return len(text)
}

func parseValue(text string) (value.Value, error) {
	var parsed any
	if err := json.Unmarshal([]byte(text), &parsed); err != nil {
		return nil, fmt.Errorf("parsing value %s: %w", text, err)
	}
	return value.NewValueInterface(parsed), nil
}
