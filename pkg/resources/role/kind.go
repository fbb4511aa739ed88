// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package role has typed resources for objects of kind Role: a base object, mutations that belong to features, and
// what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package role

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[rbacv1.Role, *rbacv1.Role, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a Role with all that is known about its life. It is Operational, Graceful, Suspendable, Guardable
	// and DataExtractable.
	Resource = generic.Resource[rbacv1.Role, *rbacv1.Role, concepts.OperationalStatusWithReason]
	// Mutation is a change of a Role that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a Role, which needs a name and a namespace.
func NewBuilder(role *rbacv1.Role) *Builder {
	kind := generic.NewAppliedKind(rbacv1.SchemeGroupVersion.WithKind("Role"), NewMutator)
	return generic.NewBuilder[Mutation](kind, role)
}

// Mutator records edits of a Role. The categories are, in this order:
//   - object metadata
//   - rules
type Mutator struct {
	generic.Plan
	generic.Metadata

	rules *generic.Category[*editors.PolicyRulesEditor]
}

// NewMutator returns a Mutator for a Role, which is changed when Apply is called.
func NewMutator(current *rbacv1.Role) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.rules = generic.NewCategory(&m.Plan, "rules", editors.NewPolicyRulesEditor(&current.Rules))
	return m
}

// EditRules records an edit of the rules. Nil is ignored.
func (m *Mutator) EditRules(edit func(*editors.PolicyRulesEditor) error) { m.rules.Record(edit) }
