// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"slices"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
)

// form says what is applied to an object.
type form int

const (
	// active are all mutations whose features are on.
	active form = iota
	// whole is active, and then what suspends the object.
	whole
	// onlySuspension is what suspends the object.
	onlySuspension
	// preview is active, with a check for conflicts between mutations.
	preview
)

// newAmender returns a function that applies the mutations of a builder to an object, and returns what it has noticed.
func newAmender[T any, P Object[T], M Mutator, F Mutation[M], S concepts.Converging](b *Builder[T, P, M, F, S], suspend func(M) error) func(P, form) ([]string, error) {
	newMutator, mutations, strict := b.kind.NewMutator, slices.Clone(b.mutations), b.strict
	return func(object P, form form) ([]string, error) {
		mutator := newMutator(object)
		plan := planOf(mutator)
		plan.strict = strict
		if form == preview {
			check, err := newConflictCheck(object)
			if err != nil {
				return nil, err
			}
			plan.after = check.after
		}
		if form != onlySuspension {
			plan.mutations = make([]mutation, 0, len(mutations)+1)
			for i, m := range mutations {
				plan.begin(mutation{number: i + 1, name: m.Name})
				if err := record(mutator, m); err != nil {
					return nil, fmt.Errorf("mutation %q: %w", m.Name, err)
				}
				mutator.NextFeature()
			}
		}
		if suspend != nil && (form == whole || form == onlySuspension) {
			plan.begin(mutation{})
			if err := guarded(func() error { return suspend(mutator) }); err != nil {
				return nil, fmt.Errorf("suspension: %w", err)
			}
		}
		err := mutator.Apply()
		return plan.warnings, err
	}
}

// record has a mutation record its edits if its feature is on.
func record[M Mutator](mutator M, mutation feature.Mutation[M]) error {
	return guarded(func() error {
		if on, err := feature.IsOn(mutation.Feature); err != nil || !on {
			return err
		}
		return mutation.Mutate(mutator)
	})
}

// guarded makes a panic of a function of the author an error.
func guarded(call func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	return call()
}

// planOf returns the Plan that a mutator embeds. A mutator without one gets a Plan that has no effect.
func planOf(mutator Mutator) *Plan {
	if planned, ok := mutator.(interface{ plan() *Plan }); ok {
		return planned.plan()
	}
	return &Plan{}
}
