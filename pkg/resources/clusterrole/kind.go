// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterrole has typed resources for objects of kind ClusterRole: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package clusterrole

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[rbacv1.ClusterRole, *rbacv1.ClusterRole, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a ClusterRole with all that is known about its life. It is Operational, Graceful, Suspendable,
	// Guardable and DataExtractable.
	Resource = generic.Resource[rbacv1.ClusterRole, *rbacv1.ClusterRole, concepts.OperationalStatusWithReason]
	// Mutation is a change of a ClusterRole that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a ClusterRole, which needs a name.
func NewBuilder(clusterrole *rbacv1.ClusterRole) *Builder {
	kind := generic.NewAppliedKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), NewMutator)
	kind.ClusterScoped = true
	return generic.NewBuilder[Mutation](kind, clusterrole)
}

// Mutator records edits of a ClusterRole. The categories are, in this order:
//   - object metadata
//   - rules
//   - aggregation rule
type Mutator struct {
	generic.Plan
	generic.Metadata

	rules       *generic.Category[*editors.PolicyRulesEditor]
	aggregation *generic.Category[**rbacv1.AggregationRule]
}

// NewMutator returns a Mutator for a ClusterRole, which is changed when Apply is called.
func NewMutator(current *rbacv1.ClusterRole) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.rules = generic.NewCategory(&m.Plan, "rules", editors.NewPolicyRulesEditor(&current.Rules))
	m.aggregation = generic.NewCategory(&m.Plan, "aggregation rule", &current.AggregationRule)
	return m
}

// EditRules records an edit of the rules. Nil is ignored.
func (m *Mutator) EditRules(edit func(*editors.PolicyRulesEditor) error) { m.rules.Record(edit) }
