// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// PolicyRulesEditor edits the rules of a Role or ClusterRole.
type PolicyRulesEditor struct {
	rules *[]rbacv1.PolicyRule
}

// NewPolicyRulesEditor returns an editor of the given rules.
func NewPolicyRulesEditor(rules *[]rbacv1.PolicyRule) *PolicyRulesEditor {
	return &PolicyRulesEditor{rules: orNew(rules)}
}

// Raw returns the edited rules.
func (e *PolicyRulesEditor) Raw() *[]rbacv1.PolicyRule { return e.rules }

// SetRules replaces all rules; nil clears them.
func (e *PolicyRulesEditor) SetRules(rules []rbacv1.PolicyRule) {
	*e.rules = (&rbacv1.Role{Rules: rules}).DeepCopy().Rules
}

// AddRule adds a rule, also if there is an equal one.
func (e *PolicyRulesEditor) AddRule(rule rbacv1.PolicyRule) {
	*e.rules = append(slices.Clone(*e.rules), *rule.DeepCopy())
}

// EnsureRule adds a rule, identified by its whole content.
func (e *PolicyRulesEditor) EnsureRule(rule rbacv1.PolicyRule) {
	ensure(e.rules, *rule.DeepCopy(), deepEqual)
}

// RemoveRuleByIndex removes the rule at an index, counted from 0. It does nothing if there is none. The rules behind it
// move, so that the next call with the same index removes another rule.
func (e *PolicyRulesEditor) RemoveRuleByIndex(index int) {
	if index >= 0 && index < len(*e.rules) {
		*e.rules = slices.Concat((*e.rules)[:index], (*e.rules)[index+1:])
	}
}

// Clear removes all rules.
func (e *PolicyRulesEditor) Clear() { *e.rules = nil }

// BindingSubjectsEditor edits the subjects of a RoleBinding or ClusterRoleBinding.
type BindingSubjectsEditor struct {
	subjects *[]rbacv1.Subject
}

// NewBindingSubjectsEditor returns an editor of the given subjects.
func NewBindingSubjectsEditor(subjects *[]rbacv1.Subject) *BindingSubjectsEditor {
	return &BindingSubjectsEditor{subjects: orNew(subjects)}
}

// Raw returns the edited subjects.
func (e *BindingSubjectsEditor) Raw() *[]rbacv1.Subject { return e.subjects }

// EnsureSubject adds a subject, identified by kind, name and namespace.
func (e *BindingSubjectsEditor) EnsureSubject(subject rbacv1.Subject) {
	ensure(e.subjects, subject, by(identifySubject))
}

// EnsureServiceAccount adds a ServiceAccount.
func (e *BindingSubjectsEditor) EnsureServiceAccount(name, namespace string) {
	e.EnsureSubject(rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace})
}

// RemoveSubject removes a subject. Users and groups have no namespace.
func (e *BindingSubjectsEditor) RemoveSubject(kind, name, namespace string) {
	remove(e.subjects, func(subject rbacv1.Subject) bool {
		return identifySubject(subject) == rbacv1.Subject{Kind: kind, Name: name, Namespace: namespace}
	})
}

// RemoveServiceAccount removes a ServiceAccount.
func (e *BindingSubjectsEditor) RemoveServiceAccount(name, namespace string) {
	e.RemoveSubject(rbacv1.ServiceAccountKind, name, namespace)
}

// identifySubject returns the subject without its API group, which follows from the kind.
func identifySubject(subject rbacv1.Subject) rbacv1.Subject {
	subject.APIGroup = ""
	return subject
}
