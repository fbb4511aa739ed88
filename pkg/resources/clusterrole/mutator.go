// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clusterrole

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// AddRule records, as an edit of the rules, that a rule is added unless an equal one exists.
func (m *Mutator) AddRule(rule rbacv1.PolicyRule) {
	rule = *rule.DeepCopy()
	m.EditRules(handlers.Infallible(func(e *editors.PolicyRulesEditor) { e.EnsureRule(rule) }))
}

// SetAggregationRule records which other ClusterRoles contribute their rules to this one. Nil means that it has rules
// of its own. Within a feature, the last call wins.
func (m *Mutator) SetAggregationRule(rule *rbacv1.AggregationRule) {
	rule = rule.DeepCopy()
	m.aggregation.Record(handlers.Infallible(func(field **rbacv1.AggregationRule) { *field = rule }))
}
