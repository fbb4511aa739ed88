// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

// Added returns an edit that adds a rule, unless there is an equal one: a second one would allow nothing more.
func Added(rule rbacv1.PolicyRule) func(*editors.PolicyRulesEditor) error {
	rule = *rule.DeepCopy()
	return func(e *editors.PolicyRulesEditor) error {
		e.EnsureRule(rule)
		return nil
	}
}
