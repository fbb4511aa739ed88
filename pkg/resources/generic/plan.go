// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"encoding/json"
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
	// current is the feature that is being recorded, applied the number of applied features.
	current, applied int
	mutation         mutation // that is being recorded
	warnings         []string
	strict           bool
	// after, if not nil, is called after each applied feature.
	after func(mutation) error
}

// mutation identifies a mutation, which may have several features.
type mutation struct {
	number int // 0 for what belongs to no mutation
	name   string
}

// prefix begins messages about the mutation.
func (m mutation) prefix() string {
	if m.name == "" {
		return ""
	}
	return fmt.Sprintf("mutation %q: ", m.name)
}

// recorded is an edit with its feature, category and mutation.
type recorded struct {
	feature, category int
	mutation          mutation
	edit              func() error
}

// NextFeature begins a new feature. The first one need not be begun.
func (p *Plan) NextFeature() { p.current++ }

// BeginFeature is NextFeature.
func (p *Plan) BeginFeature() { p.NextFeature() }

// Apply makes the edits that were recorded since the last call, in the order that the package documentation defines. It
// stops at the first error; the object may then have some of the edits.
func (p *Plan) Apply() error {
	defer func() {
		p.current++
		p.applied, p.edits = p.current, nil
	}()
	for feature := p.applied; feature <= p.current; feature++ {
		for category := range p.categories {
			if err := p.apply(feature, category); err != nil {
				return err
			}
		}
		if p.after == nil {
			continue
		}
		if err := p.after(p.mutationOf(feature)); err != nil {
			return err
		}
	}
	return nil
}

// mutationOf returns the mutation of a feature: that of its last edit, because the first edits may have been recorded
// when the mutator was created.
func (p *Plan) mutationOf(feature int) mutation {
	for _, r := range slices.Backward(p.edits) {
		if r.feature == feature {
			return r.mutation
		}
	}
	return mutation{}
}

// apply makes the edits of a feature in one category.
func (p *Plan) apply(feature, category int) error {
	for _, r := range p.edits {
		if r.feature != feature || r.category != category {
			continue
		}
		if err := guarded(r.edit); err != nil {
			return fmt.Errorf("%s%s: %w", r.mutation.prefix(), p.categories[category], err)
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
		feature: c.plan.current, category: c.number, mutation: c.plan.mutation, edit: func() error { return edit(c.editor) },
	})
}

// unmatched records a warning, or returns an error if the plan is strict, when an edit matches nothing.
func (c *Category[E]) unmatched(m mutation, what string) error {
	if c.plan.strict {
		return errors.New(what)
	}
	if warning := m.prefix() + c.plan.categories[c.number] + ": " + what; !slices.Contains(c.plan.warnings, warning) {
		c.plan.warnings = append(c.plan.warnings, warning)
	}
	return nil
}

// conflictCheck finds fields that two mutations set to different values. It compares the object before and after each
// feature, so writing the current value again does not count as a write.
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

// write is the last write of a mutation to a field.
type write struct {
	field

	mutation mutation
	exists   bool
}

// maxValueText is the maximum length of values in messages, in bytes.
const maxValueText = 60

// after compares the object with its state before the feature. Changes that belong to no mutation cause no conflict.
func (c *conflictCheck) after(m mutation) error {
	before := c.before
	after, err := fieldsOf(c.object)
	if err != nil {
		return err
	}
	c.before = after
	if m.number == 0 {
		return nil
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		now, exists := after[key]
		if was, existed := before[key]; existed == exists && reflect.DeepEqual(was.value, now.value) {
			continue
		}
		w := write{field: field{path: all[key].path, value: now.value}, mutation: m, exists: exists}
		earlier, written := c.writers[key]
		if written && earlier.mutation.number != m.number && (earlier.exists != exists || !reflect.DeepEqual(earlier.value, now.value)) {
			secret := texts.EnvValue.MatchString(w.path)
			return fmt.Errorf("mutations %q and %q both write %s: %s, then %s", earlier.mutation.name, m.name, w.path, earlier.text(secret), w.text(secret))
		}
		c.writers[key] = w
	}
	return nil
}

// text returns the value for messages, on one line and shortened. It hides secret values.
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
