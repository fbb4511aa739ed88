// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package pv has typed resources for objects of kind PersistentVolume: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package pv

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[corev1.PersistentVolume, *corev1.PersistentVolume, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a PersistentVolume with all that is known about its life. It is Operational, Graceful, Suspendable,
	// Guardable and DataExtractable.
	Resource = generic.Resource[corev1.PersistentVolume, *corev1.PersistentVolume, concepts.OperationalStatusWithReason]
	// Mutation is a change of a PersistentVolume that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a PersistentVolume, which needs a name.
func NewBuilder(pv *corev1.PersistentVolume) *Builder {
	kind := generic.NewKind(corev1.SchemeGroupVersion.WithKind("PersistentVolume"), NewMutator, DefaultConvergingStatusHandler)
	kind.ClusterScoped = true
	return generic.NewBuilder[Mutation](kind, pv)
}

// Mutator records edits of a PersistentVolume. The categories are, in this order:
//   - object metadata
//   - volume spec
type Mutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*editors.PVSpecEditor]
}

// NewMutator returns a Mutator for a PersistentVolume, which is changed when Apply is called.
func NewMutator(current *corev1.PersistentVolume) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "volume spec", editors.NewPVSpecEditor(&current.Spec))
	return m
}

// EditPVSpec records an edit of the volume spec. Nil is ignored.
func (m *Mutator) EditPVSpec(edit func(*editors.PVSpecEditor) error) { m.spec.Record(edit) }
