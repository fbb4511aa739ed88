// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concepts

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources/feature"
)

// Inspectable is implemented by resources that tests can look into. The reconciler does not need it.
type Inspectable interface {
	// Mutations returns all mutations, in the order in which they are applied.
	Mutations() []MutationState
	// Preview returns the object with all mutations that are on, and without what suspends it, and what these have
	// noticed (see Warning). It changes nothing. It fails if two mutations give one field different values.
	Preview() (object client.Object, warnings []string, err error)
}

// MutationState says whether a mutation is on.
type MutationState struct {
	// Name is the name of the mutation.
	Name string
	// Enabled means that the mutation is on.
	Enabled bool
	// Why begins with "on" or "off", or says that this cannot be told; as far as the gate can explain its answer, the
	// reason follows.
	Why string
}

// StateOfMutation returns the state of a mutation with this gate, which may be nil.
func StateOfMutation(name string, gate feature.Gate) MutationState {
	if gate == nil {
		return MutationState{Name: name, Enabled: true, Why: "on: there is no gate"}
	}
	enabled, err := gate.Enabled()
	state := MutationState{Name: name, Enabled: enabled && err == nil}
	explainer, explains := gate.(feature.Explainer)
	switch {
	case explains:
		state.Why = explainer.Why()
	case err != nil:
		state.Why = "cannot tell: " + err.Error()
	case enabled:
		state.Why = "on"
	default:
		state.Why = "off"
	}
	return state
}
