// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resourcestest

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

// Numbers are the numbers of a workload that consists of equal replicas.
type Numbers struct {
	Generation, Observed    int64
	Desired                 *int32
	Ready, Current, Updated int32
}

// CheckReplicas checks what the resource that is built says about workloads whose rollouts have ended. The function returns an object with the given numbers.
func CheckReplicas[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M]](
	t *testing.T, builder *generic.Builder[T, P, M, F, concepts.AliveStatusWithReason], kind string, object func(Numbers) P,
) {
	t.Helper()
	ready, healthy := Alive(concepts.AliveConvergingStatusHealthy, "All replicas are ready"), Grace(concepts.GraceStatusHealthy, "All replicas are ready")
	partly, down := Grace(concepts.GraceStatusDegraded, kind+" partially available"), Grace(concepts.GraceStatusDown, "No replicas are ready")
	unobserved := Unready(concepts.AliveConvergingStatusUpdating, "Waiting for "+strings.ToLower(kind)+" controller to observe latest spec")
	waiting := func(numbers string) map[concepts.ConvergingOperation]concepts.AliveStatusWithReason {
		return Unready(concepts.AliveConvergingStatusScaling, "Waiting for replicas: "+numbers+" ready")
	}
	CheckStates(t, builder, []State[P, concepts.AliveStatusWithReason]{
		{Why: "ready", Object: object(Numbers{2, 2, new(int32(3)), 3, 3, 3}), Status: ready, Grace: healthy},
		{Why: "the number of replicas defaults to 1", Object: object(Numbers{2, 2, nil, 1, 1, 1}), Status: ready, Grace: healthy},
		{Why: "scaled to zero", Object: object(Numbers{2, 2, new(int32(0)), 0, 0, 0}), Status: ready, Grace: healthy},
		{Why: "nothing is observed yet", Object: object(Numbers{1, 0, new(int32(3)), 0, 0, 0}), After: unobserved, Grace: down},
		{Why: "the numbers are those of an earlier spec", Object: object(Numbers{2, 1, new(int32(3)), 3, 3, 3}), After: unobserved, Grace: healthy},
		{Why: "a replica is missing", Object: object(Numbers{2, 2, new(int32(3)), 2, 3, 3}), After: waiting("2/3"), Grace: partly},
		{Why: "all replicas are missing", Object: object(Numbers{2, 2, new(int32(3)), 0, 3, 3}), After: waiting("0/3"), Grace: down},
		{Why: "more replicas are ready than there should be", Object: object(Numbers{2, 2, new(int32(3)), 4, 4, 4}), After: waiting("4/3"), Grace: partly},
		{Why: "being scaled to zero", Object: object(Numbers{2, 2, new(int32(0)), 1, 1, 1}), After: waiting("1/0"), Grace: partly},
	})
}

// CheckScaleToZero checks that the resource that is built is suspended by having no replicas, which the first function sets. The second one returns an object with the given
// numbers.
func CheckScaleToZero[T any, P generic.Object[T], M generic.Mutator, F generic.Mutation[M]](
	t *testing.T, builder *generic.Builder[T, P, M, F, concepts.AliveStatusWithReason], kind string, toZero func(P), object func(Numbers) P,
) {
	t.Helper()
	left := Suspending("Waiting for replicas to scale down, 2 replicas still running.")
	unobserved := Suspending("Waiting for " + strings.ToLower(kind) + " controller to observe latest spec")
	CheckSuspension(t, builder, Suspension[P]{Change: toZero, States: []SuspensionState[P]{
		{Why: "no replicas are left", Object: object(Numbers{2, 2, new(int32(0)), 0, 0, 0}), Want: Suspended(kind + " scaled to zero")},
		{Why: "replicas are left that are not ready", Object: object(Numbers{2, 2, new(int32(0)), 0, 2, 2}), Want: left},
		{Why: "the numbers are those of an earlier spec", Object: object(Numbers{2, 1, new(int32(0)), 0, 0, 0}), Want: unobserved},
	}})
}
