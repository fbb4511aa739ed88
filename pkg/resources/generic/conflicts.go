// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/texts"
)

// conflictCheck finds fields to which two mutations give different values. It compares the object before and after each
// feature, so a mutation that writes the value that is there already has written nothing.
type conflictCheck struct {
	object  client.Object
	before  map[string]field
	writers map[string]write
}

// field is a value in an object.
type field struct {
	path  string // for messages
	value any
}

// write is what a mutation has done to a field.
type write struct {
	field

	mutation mutation
	exists   bool
}

// Values in messages have at most so many bytes.
const maxValueText = 60

// newConflictCheck returns a check for an object that no feature has changed yet.
func newConflictCheck(object client.Object) (*conflictCheck, error) {
	before, err := fieldsOf(object)
	return &conflictCheck{object: object, before: before, writers: map[string]write{}}, err
}

// after compares the object with what it was before a feature of a mutation. What suspends the object may overwrite
// anything.
func (c *conflictCheck) after(m mutation) error {
	if m.number == 0 {
		return nil
	}
	before := c.before
	after, err := fieldsOf(c.object)
	if err != nil {
		return err
	}
	c.before = after
	all := maps.Clone(before)
	maps.Copy(all, after)
	var conflict error
	for _, key := range slices.Sorted(maps.Keys(all)) {
		now, exists := after[key]
		if was, existed := before[key]; existed == exists && reflect.DeepEqual(was.value, now.value) {
			continue
		}
		w := write{field: field{path: all[key].path, value: now.value}, mutation: m, exists: exists}
		earlier, written := c.writers[key]
		if written && earlier.mutation.number != m.number && (earlier.exists != exists || !reflect.DeepEqual(earlier.value, now.value)) && conflict == nil {
			secret := texts.EnvValue.MatchString(w.path)
			conflict = fmt.Errorf("mutations %q and %q both write %s: %s, then %s", earlier.mutation.name, m.name, w.path, earlier.text(secret), w.text(secret))
		}
		c.writers[key] = w
	}
	return conflict
}

// text returns the value for messages: in one line, and shortened. A secret value is not in it.
func (w write) text(secret bool) string {
	switch {
	case !w.exists:
		return "removed"
	case secret:
		return texts.Mark
	}
	text := fmt.Sprintf("%v", w.value)
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strconv.Quote(text)
	}
	return texts.Truncate(text, maxValueText)
}

// fieldsOf returns all values of an object but the entries of ConfigMaps and Secrets, which several mutations may change in
// part.
func fieldsOf(object client.Object) (map[string]field, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("comparing mutations: %w", err)
	}
	content = maps.Clone(content)
	delete(content, "data")
	delete(content, "stringData")
	fields := map[string]field{}
	collect(fields, content, "", "")
	return fields, nil
}

// collect adds all values below a value by their keys. The key of an element of a list has its name or, if it has none,
// its content: mutations may add different elements to one list.
func collect(fields map[string]field, value any, key, path string) {
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			collect(fields, below, key+segment(name), path+segment(name))
		}
	case []any:
		for _, element := range value {
			if name := nameOf(element); name != "" {
				collect(fields, element, key+name, path+name)
				continue
			}
			content, err := json.Marshal(element)
			if err != nil {
				content = fmt.Appendf(nil, "%v", element)
			}
			fields[key+string(content)] = field{path: path, value: element}
		}
	default:
		fields[key] = field{path: path, value: value}
	}
}

// nameOf returns what identifies an element of a list among the others, as a part of a path; empty if nothing does.
func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	for _, key := range []string{"mountPath", "name"} {
		if name, ok := fields[key].(string); ok {
			return fmt.Sprintf("[%s=%q]", key, name)
		}
	}
	return ""
}

// segment returns a part of a path that is a name; in brackets, if it could be taken for several.
func segment(name string) string {
	if simpleName.MatchString(name) {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

var simpleName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
