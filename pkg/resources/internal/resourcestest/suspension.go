// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resourcestest

import (
	"testing"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

// Suspension is what is to be said about the suspension of objects of a kind.
type Suspension[P any] struct {
	// Deletes means that the object is deleted.
	Deletes bool
	// Change turns the object into its suspended form. Nil means that it is not changed.
	Change func(object P)
	// States are objects after they were suspended.
	States []SuspensionState[P]
}

// SuspensionState is an object as it may be in the cluster after it was suspended, and how far that is.
type SuspensionState[P any] struct {
	// Why says what the row is about.
	Why    string
	Object P
	Want   concepts.SuspensionStatusWithReason
}

// CheckSuspension checks how the resource that is built is suspended.
func CheckSuspension[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M], S concepts.Converging](
	t *testing.T, builder *generic.Builder[T, P, M, F, S], suspension Suspension[P],
) {
	t.Helper()
	resource, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "decision whether it has a suspended form", true, resource.Registration().Suspendable, nil)
	expect(t, "decision whether it is deleted", suspension.Deletes, resource.DeleteOnSuspend(), nil)

	active, suspended := P(new(T)), P(new(T))
	if err := resource.Mutate(active); err != nil {
		t.Fatal(err)
	}
	if err := resource.Suspend(); err != nil {
		t.Fatal(err)
	}
	err = resource.Mutate(suspended)
	if suspension.Change != nil {
		suspension.Change(active)
	}
	expect(t, "suspended form", active, suspended, err)

	for _, state := range suspension.States {
		t.Run(state.Why, func(t *testing.T) {
			got, err := observing(t, builder, state.Object).SuspensionStatus()
			expect(t, "status of the suspension", state.Want, got, err)
		})
	}
}

// CheckNoSuspension checks that the resource that is built is left alone when its component is suspended.
func CheckNoSuspension[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M], S concepts.Converging](
	t *testing.T, builder *generic.Builder[T, P, M, F, S],
) {
	t.Helper()
	expect(t, "decision whether it has a suspended form", false, registered(t, builder).Suspendable, nil)
}
