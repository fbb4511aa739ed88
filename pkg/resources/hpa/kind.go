// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package hpa has typed resources for objects of kind HorizontalPodAutoscaler: a base object, mutations that
// belong to features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package hpa

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[autoscalingv2.HorizontalPodAutoscaler, *autoscalingv2.HorizontalPodAutoscaler, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a HorizontalPodAutoscaler with all that is known about its life. It is Operational, Graceful,
	// Suspendable, Guardable and DataExtractable.
	Resource = generic.Resource[autoscalingv2.HorizontalPodAutoscaler, *autoscalingv2.HorizontalPodAutoscaler, concepts.OperationalStatusWithReason]
	// Mutation is a change of a HorizontalPodAutoscaler that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a HorizontalPodAutoscaler, which needs a name and a namespace.
func NewBuilder(hpa *autoscalingv2.HorizontalPodAutoscaler) *Builder {
	kind := generic.NewKind(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), NewMutator, DefaultConvergingStatusHandler)
	kind.Defaults.DeleteOnSuspend = DefaultDeleteOnSuspendHandler
	return generic.NewBuilder[Mutation](kind, hpa)
}

// Mutator records edits of a HorizontalPodAutoscaler. The categories are, in this order:
//   - object metadata
//   - autoscaler spec
type Mutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*editors.HPASpecEditor]
}

// NewMutator returns a Mutator for a HorizontalPodAutoscaler, which is changed when Apply is called.
func NewMutator(current *autoscalingv2.HorizontalPodAutoscaler) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "autoscaler spec", editors.NewHPASpecEditor(&current.Spec))
	return m
}

// EditHPASpec records an edit of the autoscaler spec. Nil is ignored.
func (m *Mutator) EditHPASpec(edit func(*editors.HPASpecEditor) error) { m.spec.Record(edit) }

// DefaultDeleteOnSuspendHandler returns true: a HorizontalPodAutoscaler has no form in which it does no work, so
// it is deleted.
func DefaultDeleteOnSuspendHandler(_ *autoscalingv2.HorizontalPodAutoscaler) bool { return true }
