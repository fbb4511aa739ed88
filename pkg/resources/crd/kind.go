// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package crd has typed resources for objects of kind CustomResourceDefinition: a base object, mutations that
// belong to features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package crd

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.CustomResourceDefinition, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a CustomResourceDefinition with all that is known about its life. It is Operational, Graceful,
	// Suspendable, Guardable and DataExtractable.
	Resource = generic.Resource[apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.CustomResourceDefinition, concepts.OperationalStatusWithReason]
	// Mutation is a change of a CustomResourceDefinition that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a CustomResourceDefinition, which needs a name.
func NewBuilder(crd *apiextensionsv1.CustomResourceDefinition) *Builder {
	kind := generic.NewKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), NewMutator, DefaultConvergingStatusHandler)
	kind.ClusterScoped = true
	return generic.NewBuilder[Mutation](kind, crd)
}

// Mutator records edits of a CustomResourceDefinition. The categories are, in this order:
//   - object metadata
//   - definition spec
type Mutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*editors.CustomResourceDefinitionSpecEditor]
}

// NewMutator returns a Mutator for a CustomResourceDefinition, which is changed when Apply is called.
func NewMutator(current *apiextensionsv1.CustomResourceDefinition) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "definition spec", editors.NewCustomResourceDefinitionSpecEditor(&current.Spec))
	return m
}

// EditCRDSpec records an edit of the definition spec. Nil is ignored.
func (m *Mutator) EditCRDSpec(edit func(*editors.CustomResourceDefinitionSpecEditor) error) {
	m.spec.Record(edit)
}
