// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package pdb has typed resources for objects of kind PodDisruptionBudget: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package pdb

import (
	policyv1 "k8s.io/api/policy/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a PodDisruptionBudget with all that is known about its life. It is Operational, Graceful,
	// Suspendable, Guardable and DataExtractable.
	Resource = generic.Resource[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget, concepts.OperationalStatusWithReason]
	// Mutation is a change of a PodDisruptionBudget that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a PodDisruptionBudget, which needs a name and a namespace.
func NewBuilder(pdb *policyv1.PodDisruptionBudget) *Builder {
	kind := generic.NewAppliedKind(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), NewMutator)
	return generic.NewBuilder[Mutation](kind, pdb)
}

// Mutator records edits of a PodDisruptionBudget. The categories are, in this order:
//   - object metadata
//   - disruption budget spec
type Mutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*editors.PodDisruptionBudgetSpecEditor]
}

// NewMutator returns a Mutator for a PodDisruptionBudget, which is changed when Apply is called.
func NewMutator(current *policyv1.PodDisruptionBudget) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "disruption budget spec", editors.NewPodDisruptionBudgetSpecEditor(&current.Spec))
	return m
}

// EditPDBSpec records an edit of the disruption budget spec. Nil is ignored.
func (m *Mutator) EditPDBSpec(edit func(*editors.PodDisruptionBudgetSpecEditor) error) {
	m.spec.Record(edit)
}
