// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package ingress has typed resources for objects of kind Ingress: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[networkingv1.Ingress, *networkingv1.Ingress, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is an Ingress with all that is known about its life. It is Operational, Graceful, Suspendable,
	// Guardable and DataExtractable.
	Resource = generic.Resource[networkingv1.Ingress, *networkingv1.Ingress, concepts.OperationalStatusWithReason]
	// Mutation is a change of an Ingress that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for an Ingress, which needs a name and a namespace.
func NewBuilder(ingress *networkingv1.Ingress) *Builder {
	kind := generic.NewKind(networkingv1.SchemeGroupVersion.WithKind("Ingress"), NewMutator, DefaultConvergingStatusHandler)
	kind.AddressStatus = AddressConvergingStatusHandler
	return generic.NewBuilder[Mutation](kind, ingress)
}

// Mutator records edits of an Ingress. The categories are, in this order:
//   - object metadata
//   - ingress spec
type Mutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*editors.IngressSpecEditor]
}

// NewMutator returns a Mutator for an Ingress, which is changed when Apply is called.
func NewMutator(current *networkingv1.Ingress) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "ingress spec", editors.NewIngressSpecEditor(&current.Spec))
	return m
}

// EditIngressSpec records an edit of the ingress spec. Nil is ignored.
func (m *Mutator) EditIngressSpec(edit func(*editors.IngressSpecEditor) error) { m.spec.Record(edit) }
