// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package pod has typed resources for objects of kind Pod: a base object, mutations that belong to features, and
// what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package pod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[corev1.Pod, *corev1.Pod, *Mutator, Mutation, concepts.AliveStatusWithReason]
	// Resource is a Pod with all that is known about its life. It is Alive, Graceful, Suspendable, Guardable and
	// DataExtractable.
	Resource = generic.Resource[corev1.Pod, *corev1.Pod, concepts.AliveStatusWithReason]
	// Mutation is a change of a Pod that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a Pod, which needs a name and a namespace.
func NewBuilder(pod *corev1.Pod) *Builder {
	kind := generic.NewKind(corev1.SchemeGroupVersion.WithKind("Pod"), NewMutator, DefaultConvergingStatusHandler)
	kind.Defaults.GraceStatus = DefaultGraceStatusHandler
	kind.Defaults.DeleteOnSuspend = DefaultDeleteOnSuspendHandler
	return generic.NewBuilder[Mutation](kind, pod)
}

// Mutator records edits of a Pod. The categories are, in this order:
//   - object metadata
//   - pod spec
//   - presence of containers
//   - edits of containers
//   - presence of init containers
//   - edits of init containers
type Mutator struct {
	generic.Plan
	generic.Metadata
	generic.PodSpec
}

// NewMutator returns a Mutator for a Pod, which is changed when Apply is called.
func NewMutator(current *corev1.Pod) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.PodSpec = generic.NewPodSpec(&m.Plan, &current.Spec)
	return m
}

// DefaultDeleteOnSuspendHandler returns true: a Pod has no form in which it does no work, so it is deleted.
func DefaultDeleteOnSuspendHandler(_ *corev1.Pod) bool { return true }
