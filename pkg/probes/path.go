// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxPath is the maximum length of a path, in bytes; see also the schema.
const maxPath = 512

// path is the path of one field: a subset of the JSON paths of kubectl, without wildcards, slices, filters and
// recursive descent.
type path struct {
	text  string
	steps []step
}

// step leads to a field of an object, or to an entry of a list.
type step struct {
	name  string
	index int // -1: the step has a name
}

// segment is one step of a path: .name, ['name'], ["name"] or [3]. A backslash in a name means the character that
// follows.
var segment = regexp.MustCompile(`^(?:\.((?:[^.\[\]{}\\*\s]|\\.)+)|\['((?:[^'\\]|\\.)+)'\]|\["((?:[^"\\]|\\.)+)"\]|\[(\d{1,9})\])`)

func newPath(text string) (path, error) {
	const allowed = `must be the path of one field, such as .status.replicas or .metadata.annotations['example.io/revision'], of at most %d bytes`
	trimmed := strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(trimmed, "{"); ok {
		trimmed = strings.TrimSuffix(inner, "}")
	}
	if len(text) > maxPath {
		return path{}, fmt.Errorf("invalid value of %d bytes; "+allowed, len(text), maxPath)
	}
	p := path{text: trimmed}
	for rest := trimmed; rest != "" || len(p.steps) == 0; {
		found := segment.FindStringSubmatch(rest)
		if found == nil {
			return path{}, fmt.Errorf("invalid value %q; "+allowed, text, maxPath)
		}
		p.steps = append(p.steps, newStep(found))
		rest = rest[len(found[0]):]
	}
	return p, nil
}

// newStep returns the step of a match of segment.
func newStep(found []string) step {
	if index, err := strconv.Atoi(found[4]); err == nil {
		return step{index: index}
	}
	return step{name: unescape.ReplaceAllString(found[1]+found[2]+found[3], "$1"), index: -1}
}

var unescape = regexp.MustCompile(`\\(.)`)

// String returns the path without braces.
func (p path) String() string { return p.text }

// find returns the value of the field, and reports whether it exists. A path that leads through a value that has no
// fields leads nowhere.
func (p path) find(object *unstructured.Unstructured) (any, bool) {
	value := any(object.Object)
	for _, step := range p.steps {
		exists := false
		switch parent := value.(type) {
		case map[string]any:
			value, exists = parent[step.name]
			exists = exists && step.index < 0
		case []any:
			if exists = step.index >= 0 && step.index < len(parent); exists {
				value = parent[step.index]
			}
		}
		if !exists {
			return nil, false
		}
	}
	return value, true
}
