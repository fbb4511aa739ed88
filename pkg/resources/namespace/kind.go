// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package namespace has typed resources for objects of kind Namespace: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package namespace

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[corev1.Namespace, *corev1.Namespace, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a Namespace with all that is known about its life. It is Operational, Graceful, Suspendable,
	// Guardable and DataExtractable.
	Resource = generic.Resource[corev1.Namespace, *corev1.Namespace, concepts.OperationalStatusWithReason]
	// Mutation is a change of a Namespace that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a Namespace, which needs a name.
func NewBuilder(namespace *corev1.Namespace) *Builder {
	kind := generic.NewAppliedKind(corev1.SchemeGroupVersion.WithKind("Namespace"), NewMutator)
	kind.ClusterScoped = true
	return generic.NewBuilder[Mutation](kind, namespace)
}

// Mutator records edits of a Namespace. The categories are, in this order:
//   - object metadata
type Mutator struct {
	generic.Plan
	generic.Metadata
}

// NewMutator returns a Mutator for a Namespace, which is changed when Apply is called.
func NewMutator(current *corev1.Namespace) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	return m
}
