// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package rolebinding has typed resources for objects of kind RoleBinding: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package rolebinding

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[rbacv1.RoleBinding, *rbacv1.RoleBinding, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a RoleBinding with all that is known about its life. It is Operational, Graceful, Suspendable,
	// Guardable and DataExtractable.
	Resource = generic.Resource[rbacv1.RoleBinding, *rbacv1.RoleBinding, concepts.OperationalStatusWithReason]
	// Mutation is a change of a RoleBinding that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a RoleBinding, which needs a name and a namespace.
func NewBuilder(rolebinding *rbacv1.RoleBinding) *Builder {
	kind := generic.NewAppliedKind(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), NewMutator)
	kind.Check = func(binding *rbacv1.RoleBinding) error { return handlers.CheckRoleRef(binding.RoleRef) }
	return generic.NewBuilder[Mutation](kind, rolebinding)
}

// Mutator records edits of a RoleBinding. The categories are, in this order:
//   - object metadata
//   - subjects
type Mutator struct {
	generic.Plan
	generic.Metadata

	subjects *generic.Category[*editors.BindingSubjectsEditor]
}

// NewMutator returns a Mutator for a RoleBinding, which is changed when Apply is called.
func NewMutator(current *rbacv1.RoleBinding) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.subjects = generic.NewCategory(&m.Plan, "subjects", editors.NewBindingSubjectsEditor(&current.Subjects))
	return m
}

// EditSubjects records an edit of the subjects. Nil is ignored.
func (m *Mutator) EditSubjects(edit func(*editors.BindingSubjectsEditor) error) {
	m.subjects.Record(edit)
}
