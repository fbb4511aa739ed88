// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy has typed resources for objects of kind NetworkPolicy: a base object, mutations that
// belong to features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package networkpolicy

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a NetworkPolicy with all that is known about its life. It is Operational, Graceful, Suspendable,
	// Guardable and DataExtractable.
	Resource = generic.Resource[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy, concepts.OperationalStatusWithReason]
	// Mutation is a change of a NetworkPolicy that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a NetworkPolicy, which needs a name and a namespace.
func NewBuilder(networkpolicy *networkingv1.NetworkPolicy) *Builder {
	kind := generic.NewAppliedKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), NewMutator)
	return generic.NewBuilder[Mutation](kind, networkpolicy)
}

// Mutator records edits of a NetworkPolicy. The categories are, in this order:
//   - object metadata
//   - network policy spec
type Mutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*editors.NetworkPolicySpecEditor]
}

// NewMutator returns a Mutator for a NetworkPolicy, which is changed when Apply is called.
func NewMutator(current *networkingv1.NetworkPolicy) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "network policy spec", editors.NewNetworkPolicySpecEditor(&current.Spec))
	return m
}

// EditNetworkPolicySpec records an edit of the network policy spec. Nil is ignored.
func (m *Mutator) EditNetworkPolicySpec(edit func(*editors.NetworkPolicySpecEditor) error) {
	m.spec.Record(edit)
}
