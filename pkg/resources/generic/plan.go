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
	// NextFeature begins a new feature: what is recorded later is applied later.
	NextFeature()
	// Apply makes the edits that were recorded since the last call.
	Apply() error
}

// Plan holds the edits that are recorded for an object. Mutators embed it. The zero value is ready for use. It must not
// be copied after a category was added, and not be used concurrently.
type Plan struct {
	categories []stage
	// current is the feature that is being recorded, applied the number of features that were applied.
	current, applied int
	mutation         mutation   // that is being recorded
	mutations        []mutation // by feature; may be shorter
	warnings         []string
	strict           bool
	// after is called when a feature was applied; may be nil.
	after func(mutation) error
}

// mutation identifies a mutation, which may have several features.
type mutation struct {
	number int // 0 for what belongs to no mutation
	name   string
}

// stage is a category of any type.
type stage interface {
	name() string
	// run makes the edits of a feature.
	run(feature int) error
	// forget drops all edits.
	forget()
}

// NextFeature begins a new feature. The first one has begun already.
func (p *Plan) NextFeature() {
	p.current++
	p.note()
}

// BeginFeature is NextFeature.
func (p *Plan) BeginFeature() { p.NextFeature() }

// Apply makes the edits that were recorded since the last call, in the order that the documentation of the package
// states. It ends at the first error; then the object may have some of the edits.
func (p *Plan) Apply() error {
	defer func() {
		p.current++
		p.applied = p.current
		for _, category := range p.categories {
			category.forget()
		}
	}()
	for feature := p.applied; feature <= p.current; feature++ {
		for _, category := range p.categories {
			if err := guarded(func() error { return category.run(feature) }); err != nil {
				return fmt.Errorf("%s%s: %w", p.prefix(feature), category.name(), err)
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

// plan lets this package find the Plan in a mutator.
func (p *Plan) plan() *Plan { return p }

// begin says which mutation is being recorded from now on.
func (p *Plan) begin(m mutation) {
	p.mutation = m
	p.note()
}

// note keeps which mutation the current feature belongs to.
func (p *Plan) note() {
	for len(p.mutations) <= p.current {
		p.mutations = append(p.mutations, p.mutation)
	}
	p.mutations[p.current] = p.mutation
}

func (p *Plan) mutationOf(feature int) mutation {
	if feature < len(p.mutations) {
		return p.mutations[feature]
	}
	return mutation{}
}

func (p *Plan) prefix(feature int) string {
	if name := p.mutationOf(feature).name; name != "" {
		return fmt.Sprintf("mutation %q: ", name)
	}
	return ""
}

// unmatched notes that an edit in a category has found nothing to edit.
func (p *Plan) unmatched(feature int, category, what string) error {
	if p.strict {
		return errors.New(what)
	}
	if warning := p.prefix(feature) + category + ": " + what; !slices.Contains(p.warnings, warning) {
		p.warnings = append(p.warnings, warning)
	}
	return nil
}

// Category is a category of edits that an editor of type E serves.
type Category[E any] struct {
	plan   *Plan
	title  string
	editor E
	edits  []recorded[func(E) error]
}

// recorded is an edit with the feature that it belongs to.
type recorded[E any] struct {
	feature int
	edit    E
}

// NewCategory adds a category after those that the plan has. The name appears in errors.
func NewCategory[E any](plan *Plan, name string, editor E) *Category[E] {
	c := &Category[E]{plan: plan, title: name, editor: editor}
	plan.categories = append(plan.categories, c)
	return c
}

// Record records an edit for the current feature. Nil is ignored.
func (c *Category[E]) Record(edit func(E) error) {
	if edit != nil {
		c.edits = append(c.edits, recorded[func(E) error]{feature: c.plan.current, edit: edit})
	}
}

func (c *Category[E]) name() string { return c.title }

func (c *Category[E]) forget() { c.edits = nil }

func (c *Category[E]) run(feature int) error {
	for _, r := range c.edits {
		if r.feature != feature {
			continue
		}
		if err := r.edit(c.editor); err != nil {
			return err
		}
	}
	return nil
}

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
