// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"errors"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// writesOf returns what a change of a field has written, given the contents before and after it. If the field is an entry of data or stringData with a map in YAML or JSON,
// these are the values in it that have changed.
func writesOf(path fieldpath.Path, contents [2]any) []write {
	key := textOf(path)
	if len(path) != 2 || path[0].FieldName == nil || *path[0].FieldName != "data" && *path[0].FieldName != "stringData" {
		value, exists := lookUp(contents[1], path)
		return []write{{key: key, value: value, exists: exists}}
	}
	before, after := entryOf(contents[0], path), entryOf(contents[1], path)
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	var writes []write
	for _, name := range slices.Compact(names) {
		was, existed := before[name]
		value, exists := after[name]
		if existed != exists || !reflect.DeepEqual(was, value) {
			writes = append(writes, write{key: key + name, value: value, exists: exists})
		}
	}
	return writes
}

// entryOf returns the values of an entry by their paths in it. An entry that is not a YAML or JSON map is one value
// without a path.
func entryOf(content any, path fieldpath.Path) map[string]any {
	values := map[string]any{}
	value, exists := lookUp(content, path)
	if !exists {
		return values
	}
	if text, ok := value.(string); ok {
		var document map[string]any
		var next any
		decoder := yaml.NewDecoder(strings.NewReader(text))
		if err := decoder.Decode(&document); err == nil && errors.Is(decoder.Decode(&next), io.EOF) && len(document) > 0 {
			flatten(document, "", values)
			return values
		}
	}
	values[""] = value
	return values
}

// flatten adds all values below a value by their paths, except maps with keys.
func flatten(value any, path string, values map[string]any) {
	fields, ok := value.(map[string]any)
	if !ok || len(fields) == 0 {
		values[path] = value
		return
	}
	for name, below := range fields {
		flatten(below, path+segment(name), values)
	}
}

// textOf returns a path for messages.
func textOf(path fieldpath.Path) string {
	var text strings.Builder
	for _, element := range path {
		if element.FieldName != nil {
			text.WriteString(segment(*element.FieldName))
		} else {
			text.WriteString(element.String())
		}
	}
	return text.String()
}

// segment returns a part of a path that is a name; in brackets, if it could be taken for several.
func segment(name string) string {
	if simpleName.MatchString(name) {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

var simpleName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
