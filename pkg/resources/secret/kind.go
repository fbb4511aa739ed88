// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package secret has typed resources for objects of kind Secret: a base object, mutations that belong to features,
// and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package secret

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[corev1.Secret, *corev1.Secret, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a Secret with all that is known about its life. It is Operational, Graceful, Suspendable, Guardable
	// and DataExtractable.
	Resource = generic.Resource[corev1.Secret, *corev1.Secret, concepts.OperationalStatusWithReason]
	// Mutation is a change of a Secret that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a Secret, which needs a name and a namespace.
func NewBuilder(secret *corev1.Secret) *Builder {
	kind := generic.NewAppliedKind(corev1.SchemeGroupVersion.WithKind("Secret"), NewMutator)
	return generic.NewBuilder[Mutation](kind, secret)
}

// Mutator records edits of a Secret. The categories are, in this order:
//   - object metadata
//   - data
type Mutator struct {
	generic.Plan
	generic.Metadata

	data *generic.Category[*editors.SecretDataEditor]
}

// NewMutator returns a Mutator for a Secret, which is changed when Apply is called.
func NewMutator(current *corev1.Secret) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.data = generic.NewCategory(&m.Plan, "data", editors.NewSecretDataEditor(current))
	return m
}

// EditData records an edit of the data. Nil is ignored.
func (m *Mutator) EditData(edit func(*editors.SecretDataEditor) error) { m.data.Record(edit) }
