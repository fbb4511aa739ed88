// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

// AddRule records, as an edit of the rules, that a rule is added, unless there is an equal one.
func (m *Mutator) AddRule(rule rbacv1.PolicyRule) {
	rule = *rule.DeepCopy()
	m.EditRules(func(e *editors.PolicyRulesEditor) error {
		e.EnsureRule(rule)
		return nil
	})
}
