// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package role

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
