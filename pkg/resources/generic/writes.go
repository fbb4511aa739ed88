// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/yamltext"
)

// writesOf returns what a change of a field has written, given the contents before and after it. If the field is an entry of data or stringData with a map in YAML or JSON,
// these are the values in it that have changed.
func writesOf(path fieldpath.Path, contents [2]any) []write {
	now := write{key: textOf(path)}
	now.value, now.exists = lookUp(contents[1], path)
	if !isEntry(path) {
		return []write{now}
	}
	before, after := entryOf(lookUp(contents[0], path)), entryOf(lookUp(contents[1], path))
	keys := slices.SortedFunc(slices.Values(slices.Concat(before.keys, after.keys)), slices.Compare)
	var writes []write
	for _, key := range slices.CompactFunc(keys, slices.Equal) {
		inside := write{key: now.key}
		for _, name := range key {
			inside.key += segment(name)
		}
		was, existed := before.value(key)
		inside.value, inside.exists = after.value(key)
		if existed != inside.exists || !reflect.DeepEqual(was, inside.value) {
			writes = append(writes, inside)
		}
	}
	return writes
}

// isEntry reports whether a path is that of an entry of data or stringData.
func isEntry(path fieldpath.Path) bool {
	return len(path) == 2 && path[0].FieldName != nil && (*path[0].FieldName == "data" || *path[0].FieldName == "stringData")
}

// entry is an entry of data or stringData.
type entry struct {
	text     any
	exists   bool
	document *yamltext.Document // nil if the entry is not a map
	keys     [][]string         // the paths of its values; an entry that is not a map has one value without a path
}

func entryOf(text any, exists bool) entry {
	e := entry{text: text, exists: exists}
	if content, ok := text.(string); ok {
		if document, err := yamltext.Parse(content); err == nil && document.IsMap() {
			e.document, e.keys = document, document.Leaves()
			return e
		}
	}
	if exists {
		e.keys = [][]string{nil}
	}
	return e
}

func (e entry) value(key []string) (value any, exists bool) {
	switch {
	case len(key) == 0:
		return e.text, e.exists
	case e.document == nil:
		return nil, false
	}
	return e.document.Value(key)
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
