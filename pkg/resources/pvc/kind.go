// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package pvc has typed resources for objects of kind PersistentVolumeClaim: a base object, mutations that belong
// to features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package pvc

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a PersistentVolumeClaim with all that is known about its life. It is Operational, Graceful,
	// Suspendable, Guardable and DataExtractable.
	Resource = generic.Resource[corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim, concepts.OperationalStatusWithReason]
	// Mutation is a change of a PersistentVolumeClaim that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a PersistentVolumeClaim, which needs a name and a namespace.
func NewBuilder(pvc *corev1.PersistentVolumeClaim) *Builder {
	kind := generic.NewKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), NewMutator, DefaultConvergingStatusHandler)
	return generic.NewBuilder[Mutation](kind, pvc)
}

// Mutator records edits of a PersistentVolumeClaim. The categories are, in this order:
//   - object metadata
//   - claim spec
type Mutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*editors.PVCSpecEditor]
}

// NewMutator returns a Mutator for a PersistentVolumeClaim, which is changed when Apply is called.
func NewMutator(current *corev1.PersistentVolumeClaim) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "claim spec", editors.NewPVCSpecEditor(&current.Spec))
	return m
}

// EditPVCSpec records an edit of the claim spec. Nil is ignored.
func (m *Mutator) EditPVCSpec(edit func(*editors.PVCSpecEditor) error) { m.spec.Record(edit) }
