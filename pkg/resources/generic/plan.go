// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"errors"
	"fmt"
	"slices"
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
