// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"cmp"
	"errors"
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

// Mutator records edits of one object; see Plan, which implements it.
type Mutator interface {
	// NextFeature begins a new feature. Edits that are recorded afterwards are applied later.
	NextFeature()
	// Apply makes the edits that were recorded since the last call.
	Apply() error
}

// Plan contains the recorded edits of an object. Mutators embed it. The zero value is ready for use. It must not be
// copied after a category was added, and must not be used concurrently.
type Plan struct {
	categories []string // by their names, in their order
	edits      []recorded
	current    int    // the feature that is being recorded
	prefix     string // of messages about the mutation that is being recorded
	warnings   []string
	strict     bool
}

// recorded is an edit with its feature and category, and the prefix of messages about its mutation.
type recorded struct {
	feature, category int
	prefix            string
	edit              func() error
}

// NextFeature begins a new feature. The first one need not be begun.
func (p *Plan) NextFeature() { p.current++ }

// BeginFeature is NextFeature.
func (p *Plan) BeginFeature() { p.NextFeature() }

// Apply makes the edits that were recorded since the last call, in the order that the package documentation defines. It
// stops at the first error; the object may then have some of the edits. Edits that edits record are made afterwards.
func (p *Plan) Apply() error {
	for len(p.edits) > 0 {
		edits := p.edits
		p.edits = nil
		p.NextFeature()
		slices.SortStableFunc(edits, func(a, b recorded) int {
			return cmp.Or(cmp.Compare(a.feature, b.feature), cmp.Compare(a.category, b.category))
		})
		for _, r := range edits {
			if err := guarded(r.edit); err != nil {
				return fmt.Errorf("%s%s: %w", r.prefix, p.categories[r.category], err)
			}
		}
	}
	return nil
}

// plan makes the Plan of a mutator accessible to this package.
func (p *Plan) plan() *Plan { return p }

// Category is a category of edits with an editor of type E.
type Category[E any] struct {
	plan   *Plan
	number int
	editor E
}

// NewCategory adds a category after the existing ones of the plan. The name appears in errors.
func NewCategory[E any](plan *Plan, name string, editor E) *Category[E] {
	plan.categories = append(plan.categories, name)
	return &Category[E]{plan: plan, number: len(plan.categories) - 1, editor: editor}
}

// Record records an edit for the current feature. Nil is ignored.
func (c *Category[E]) Record(edit func(E) error) {
	if edit == nil {
		return
	}
	c.plan.edits = append(c.plan.edits, recorded{
		feature: c.plan.current, category: c.number, prefix: c.plan.prefix, edit: func() error { return edit(c.editor) },
	})
}

// unmatched records a warning, or returns an error if the plan is strict, when an edit matches nothing.
func (c *Category[E]) unmatched(prefix, what string) error {
	if c.plan.strict {
		return errors.New(what)
	}
	if warning := prefix + c.plan.categories[c.number] + ": " + what; !slices.Contains(c.plan.warnings, warning) {
		c.plan.warnings = append(c.plan.warnings, warning)
	}
	return nil
}

// conflictCheck finds fields that two mutations set to different values. It compares the object before and after each
// mutation, so writing the current value again does not count as a write. Null is the value of a missing field.
type conflictCheck struct {
	before  map[string]field
	writers map[string]write
}

// field is a value in an object.
type field struct {
	path  string // for messages
	value any
}

// write is the last write of a mutation to a field.
type write struct {
	mutation string
	value    any
}

// maxValueText is the maximum length of values in messages, in bytes.
const maxValueText = 60

// apply makes the edits of a mutation, and compares the object with its state before.
func (c *conflictCheck) apply(mutator Mutator, mutation string, object client.Object) error {
	if err := mutator.Apply(); err != nil {
		return err
	}
	after, err := fieldsOf(object)
	if err != nil {
		return err
	}
	all := maps.Clone(c.before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		path, value := all[key].path, after[key].value
		if reflect.DeepEqual(c.before[key].value, value) {
			continue
		}
		if earlier, written := c.writers[key]; written && !reflect.DeepEqual(earlier.value, value) {
			return fmt.Errorf("mutations %q and %q both write %s: %s, then %s", earlier.mutation, mutation, path, valueText(path, earlier.value), valueText(path, value))
		}
		c.writers[key] = write{mutation: mutation, value: value}
	}
	c.before = after
	return nil
}

// valueText returns a value for messages, on one line and shortened. It hides secret values.
func valueText(path string, value any) string {
	switch {
	case value == nil:
		return "removed"
	case texts.EnvValue.MatchString(path):
		return texts.Mark
	}
	text := fmt.Sprint(value)
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strconv.Quote(text)
	}
	return texts.Truncate(text, maxValueText)
}

// fieldsOf returns all values of an object except the entries of ConfigMaps and Secrets, because several mutations may
// change parts of one entry.
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

// collect adds all values below a value by their keys. A list element is keyed by its name or, without a name, by its
// content, because mutations may add different elements to one list.
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
			fields[key+fmt.Sprintf("[%#v]", element)] = field{path: path, value: element}
		}
	default:
		fields[key] = field{path: path, value: value}
	}
}

// nameOf returns the path segment that identifies an element within its list; empty if nothing does.
func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	for _, key := range []string{"mountPath", "name"} {
		if name, ok := fields[key].(string); ok {
			return fmt.Sprintf("[%s=%q]", key, name)
		}
	}
	return ""
}

// segment returns a name as a path segment; in brackets if it could be mistaken for several segments.
func segment(name string) string {
	if simpleName.MatchString(name) {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

var simpleName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
