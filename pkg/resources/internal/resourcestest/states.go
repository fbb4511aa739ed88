// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resourcestest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

// State is an object as it may be in the cluster, and what is to be said about it.
type State[P, S any] struct {
	// Why says what the row is about.
	Why    string
	Object P
	// Status is how far the object is, whatever the operation.
	Status S
	// After is the same if it depends on the operation: then it has all operations, and Status is not used.
	After map[concepts.ConvergingOperation]S
	// Grace is how well the object does its job.
	Grace concepts.GraceStatusWithReason
}

var operations = []concepts.ConvergingOperation{concepts.ConvergingOperationCreated, concepts.ConvergingOperationUpdated, concepts.ConvergingOperationNone}

// CheckStates checks what the resource that is built says about states of its object.
func CheckStates[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M], S concepts.Converging](
	t *testing.T, builder *generic.Builder[T, P, M, F, S], states []State[P, S],
) {
	t.Helper()
	expect(t, "decision whether the status counts", true, registered(t, builder).Judged, nil)
	for _, state := range states {
		t.Run(state.Why, func(t *testing.T) {
			resource := observing(t, builder, state.Object)
			for _, op := range operations {
				want, ok := state.Status, true
				if state.After != nil {
					want, ok = state.After[op]
				}
				if !ok {
					t.Fatalf("the row lacks the operation %s", op)
				}
				got, err := resource.ConvergingStatus(op)
				expect(t, "status after "+string(op), want, got, err)
			}
			got, err := resource.GraceStatus()
			expect(t, "grace status", state.Grace, got, err)
		})
	}
}

// CheckApplied checks that the resource that is built is ready when it is applied, as far as the reconciler does not know better, and that it is left alone when its component is
// suspended.
func CheckApplied[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M]](
	t *testing.T, builder *generic.Builder[T, P, M, F, concepts.OperationalStatusWithReason],
) {
	t.Helper()
	expect(t, "decision whether the status counts", false, registered(t, builder).Judged, nil)
	CheckNoSuspension(t, builder)
	resource, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	status, err := resource.ConvergingStatus(concepts.ConvergingOperationNone)
	expect(t, "status", Operational(concepts.OperationalStatusOperational, "applied"), status, err)
	grace, err := resource.GraceStatus()
	expect(t, "grace status", Grace(concepts.GraceStatusHealthy, "applied"), grace, err)
}

// registered says how the resource that is built takes part in a set.
func registered[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M], S concepts.Converging](
	t *testing.T, builder *generic.Builder[T, P, M, F, S],
) concepts.Registration {
	t.Helper()
	resource, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	return resource.Registration()
}

// observing returns the resource, with an object as it is in the cluster. The object must not be changed by the test.
func observing[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M], S concepts.Converging](
	t *testing.T, builder *generic.Builder[T, P, M, F, S], object P,
) *generic.Resource[T, P, S] {
	t.Helper()
	resource, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := resource.RecordObservation(object); err != nil {
		t.Fatal(err)
	}
	before := object.DeepCopyObject()
	t.Cleanup(func() {
		if diff := cmp.Diff(before, object.DeepCopyObject()); diff != "" {
			t.Errorf("a handler has changed the object (-before +after):\n%s", diff)
		}
	})
	return resource
}

// expect checks a result.
func expect[V any](t *testing.T, what string, want, got V, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected %s (-want +got):\n%s", what, diff)
	}
}
