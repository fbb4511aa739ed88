// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
)

// gated is what is known about a mutation of any kind.
type gated struct {
	name string
	gate feature.Gate
}

func gatesOf[M any](mutations []feature.Mutation[M]) []gated {
	gates := make([]gated, len(mutations))
	for i, mutation := range mutations {
		gates[i] = gated{name: mutation.Name, gate: mutation.Feature}
	}
	return gates
}

// Mutations returns the states of all mutations, in the order in which they are applied. It asks their gates.
func (r *Resource[T, P, S]) Mutations() []concepts.MutationState {
	states := make([]concepts.MutationState, len(r.gates))
	for i, mutation := range r.gates {
		states[i] = concepts.StateOfMutation(mutation.name, mutation.gate)
	}
	return states
}

// Preview is PreviewObject for callers that do not know the Go type of the object. It also returns what mutations have
// noticed; Warnings does not change.
func (r *Resource[T, P, S]) Preview() (object client.Object, warnings []string, err error) {
	previewed, warnings, err := r.preview()
	if err != nil {
		return nil, nil, err
	}
	return previewed, warnings, nil
}

func (r *Resource[T, P, S]) preview() (P, []string, error) {
	object := copyOf[T](r.base)
	warnings, err := r.amend(object, preview)
	if err != nil {
		return nil, nil, fmt.Errorf("mutating %s: %w", r.text(), err)
	}
	return object, warnings, nil
}
