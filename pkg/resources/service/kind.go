// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package service has typed resources for objects of kind Service: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package service

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[corev1.Service, *corev1.Service, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a Service with all that is known about its life. It is Operational, Graceful, Suspendable, Guardable
	// and DataExtractable.
	Resource = generic.Resource[corev1.Service, *corev1.Service, concepts.OperationalStatusWithReason]
	// Mutation is a change of a Service that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a Service, which needs a name and a namespace.
func NewBuilder(service *corev1.Service) *Builder {
	kind := generic.NewKind(corev1.SchemeGroupVersion.WithKind("Service"), NewMutator, DefaultConvergingStatusHandler)
	return generic.NewBuilder[Mutation](kind, service)
}

// Mutator records edits of a Service. The categories are, in this order:
//   - object metadata
//   - service spec
type Mutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*editors.ServiceSpecEditor]
}

// NewMutator returns a Mutator for a Service, which is changed when Apply is called.
func NewMutator(current *corev1.Service) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "service spec", editors.NewServiceSpecEditor(&current.Spec))
	return m
}

// EditServiceSpec records an edit of the service spec. Nil is ignored.
func (m *Mutator) EditServiceSpec(edit func(*editors.ServiceSpecEditor) error) { m.spec.Record(edit) }
