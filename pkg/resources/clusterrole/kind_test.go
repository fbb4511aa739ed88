// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clusterrole

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sample"}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckApplied(t, NewBuilder(sample()))
}

// of returns the rule that aggregates the ClusterRoles with a label.
func of(label string) *rbacv1.AggregationRule {
	return &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"role": label}}}}
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("rules", m.EditRules), resourcestest.Recorded("aggregation rule", m.aggregation.Record))

	rule := rbacv1.PolicyRule{Verbs: []string{"get"}}
	aggregating := func(rule *rbacv1.AggregationRule) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{AggregationRule: rule}
	}
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*rbacv1.ClusterRole, *Mutator]{
		{Why: "AddRule adds a rule", Start: &rbacv1.ClusterRole{}, Record: func(m *Mutator) { m.AddRule(rule) }, Want: &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule}}},
		{Why: "SetAggregationRule sets the rule", Start: aggregating(nil), Record: func(m *Mutator) { m.SetAggregationRule(of("a")) }, Want: aggregating(of("a"))},
		{Why: "SetAggregationRule replaces the rule", Start: aggregating(of("a")), Record: func(m *Mutator) { m.SetAggregationRule(of("b")) }, Want: aggregating(of("b"))},
		{Why: "SetAggregationRule removes the rule", Start: aggregating(of("a")), Record: func(m *Mutator) { m.SetAggregationRule(nil) }, Want: aggregating(nil)},
		{
			Why: "the last call of SetAggregationRule wins", Start: aggregating(nil),
			Record: func(m *Mutator) {
				m.SetAggregationRule(nil)
				m.SetAggregationRule(of("a"))
				m.SetAggregationRule(of("b"))
			}, Want: aggregating(of("b")),
		},
		{
			Why: "SetAggregationRule copies at once", Start: aggregating(nil),
			Record: func(m *Mutator) {
				given := of("a")
				m.SetAggregationRule(given)
				given.ClusterRoleSelectors[0].MatchLabels["role"] = "b"
			}, Want: aggregating(of("a")),
		},
	})
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "rbac.authorization.k8s.io/v1/ClusterRole/sample")
}
