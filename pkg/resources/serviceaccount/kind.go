// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package serviceaccount has typed resources for objects of kind ServiceAccount: a base object, mutations that
// belong to features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package serviceaccount

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[corev1.ServiceAccount, *corev1.ServiceAccount, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a ServiceAccount with all that is known about its life. It is Operational, Graceful, Suspendable,
	// Guardable and DataExtractable.
	Resource = generic.Resource[corev1.ServiceAccount, *corev1.ServiceAccount, concepts.OperationalStatusWithReason]
	// Mutation is a change of a ServiceAccount that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a ServiceAccount, which needs a name and a namespace.
func NewBuilder(serviceaccount *corev1.ServiceAccount) *Builder {
	kind := generic.NewAppliedKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"), NewMutator)
	return generic.NewBuilder[Mutation](kind, serviceaccount)
}

// Mutator records edits of a ServiceAccount. The categories are, in this order:
//   - object metadata
//   - image pull secrets
//   - automount of the token
type Mutator struct {
	generic.Plan
	generic.Metadata

	pullSecrets *generic.Category[*[]corev1.LocalObjectReference]
	automount   *generic.Category[**bool]
}

// NewMutator returns a Mutator for a ServiceAccount, which is changed when Apply is called.
func NewMutator(current *corev1.ServiceAccount) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.pullSecrets = generic.NewCategory(&m.Plan, "image pull secrets", &current.ImagePullSecrets)
	m.automount = generic.NewCategory(&m.Plan, "automount of the token", &current.AutomountServiceAccountToken)
	return m
}
