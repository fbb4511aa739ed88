// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterrolebinding has typed resources for objects of kind ClusterRoleBinding: a base object, mutations
// that belong to features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package clusterrolebinding

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
	Builder = generic.Builder[rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBinding, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a ClusterRoleBinding with all that is known about its life. It is Operational, Graceful,
	// Suspendable, Guardable and DataExtractable.
	Resource = generic.Resource[rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBinding, concepts.OperationalStatusWithReason]
	// Mutation is a change of a ClusterRoleBinding that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a ClusterRoleBinding, which needs a name.
func NewBuilder(clusterrolebinding *rbacv1.ClusterRoleBinding) *Builder {
	kind := generic.NewAppliedKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), NewMutator)
	kind.ClusterScoped = true
	kind.Check = func(binding *rbacv1.ClusterRoleBinding) error { return handlers.CheckRoleRef(binding.RoleRef) }
	return generic.NewBuilder[Mutation](kind, clusterrolebinding)
}

// Mutator records edits of a ClusterRoleBinding. The categories are, in this order:
//   - object metadata
//   - subjects
type Mutator struct {
	generic.Plan
	generic.Metadata

	subjects *generic.Category[*editors.BindingSubjectsEditor]
}

// NewMutator returns a Mutator for a ClusterRoleBinding, which is changed when Apply is called.
func NewMutator(current *rbacv1.ClusterRoleBinding) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.subjects = generic.NewCategory(&m.Plan, "subjects", editors.NewBindingSubjectsEditor(&current.Subjects))
	return m
}

// EditSubjects records an edit of the subjects. Nil is ignored.
func (m *Mutator) EditSubjects(edit func(*editors.BindingSubjectsEditor) error) {
	m.subjects.Record(edit)
}
