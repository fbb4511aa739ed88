// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

func TestPolicyRulesEditor(t *testing.T) {
	t.Parallel()
	rule := func(verbs ...string) rbacv1.PolicyRule { return rbacv1.PolicyRule{Verbs: verbs} }
	rules := func(rules ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return rules }
	remove := func(index int) func(*editors.PolicyRulesEditor) {
		return func(e *editors.PolicyRulesEditor) { e.RemoveRuleByIndex(index) }
	}
	check(t, editors.NewPolicyRulesEditor, map[string]row[[]rbacv1.PolicyRule, *editors.PolicyRulesEditor]{
		"all rules are replaced": {
			start: rules(rule("get"), rule("list")),
			edit:  func(e *editors.PolicyRulesEditor) { e.SetRules(rules(rule("watch"))) },
			want:  rules(rule("watch")),
		},
		"nil clears all rules": {
			start: rules(rule("get")),
			edit:  func(e *editors.PolicyRulesEditor) { e.SetRules(nil) },
		},
		"a rule is added, also an equal one": {
			start: rules(rule("get")),
			edit:  func(e *editors.PolicyRulesEditor) { e.AddRule(rule("get")) },
			want:  rules(rule("get"), rule("get")),
			once:  true,
		},
		"a rule is added to none": {
			edit: func(e *editors.PolicyRulesEditor) { e.AddRule(rule("get")) },
			want: rules(rule("get")),
			once: true,
		},
		"a rule with the same content is there once": {
			start: rules(rule("get"), rule("list"), rule("get")),
			edit:  func(e *editors.PolicyRulesEditor) { e.EnsureRule(rule("get")); e.EnsureRule(rule("get", "list")) },
			want:  rules(rule("get"), rule("list"), rule("get", "list")),
		},
		"an empty list is the same as none": {
			start: rules(rbacv1.PolicyRule{Verbs: []string{"get"}, ResourceNames: []string{}}),
			edit:  func(e *editors.PolicyRulesEditor) { e.EnsureRule(rule("get")) },
			want:  rules(rule("get")),
		},
		"the rule in the middle is removed": {start: rules(rule("a"), rule("b"), rule("c")), edit: remove(1), want: rules(rule("a"), rule("c")), once: true},
		"the only rule is removed":          {start: rules(rule("a")), edit: remove(0)},
		"an index behind the last is none":  {start: rules(rule("a")), edit: remove(1), want: rules(rule("a"))},
		"a negative index is none":          {start: rules(rule("a")), edit: remove(-1), want: rules(rule("a"))},
		"no rules have no index":            {edit: remove(0)},
		"all rules are removed":             {start: rules(rule("a"), rule("b")), edit: func(e *editors.PolicyRulesEditor) { e.Clear() }},
		"Raw is the value itself": {
			edit: func(e *editors.PolicyRulesEditor) { *e.Raw() = rules(rule("a")) },
			want: rules(rule("a")),
		},
	})
}

func TestBindingSubjectsEditor(t *testing.T) {
	t.Parallel()
	account := func(name, namespace string) rbacv1.Subject {
		return rbacv1.Subject{Kind: "ServiceAccount", Name: name, Namespace: namespace}
	}
	user := rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "a"}
	subjects := func(subjects ...rbacv1.Subject) []rbacv1.Subject { return subjects }
	check(t, editors.NewBindingSubjectsEditor, map[string]row[[]rbacv1.Subject, *editors.BindingSubjectsEditor]{
		"a subject is added to none": {
			edit: func(e *editors.BindingSubjectsEditor) { e.EnsureSubject(user) },
			want: subjects(user),
		},
		"a subject is replaced with its API group, and its duplicates go": {
			start: subjects(rbacv1.Subject{Kind: "User", Name: "a"}, account("a", "x"), user),
			edit:  func(e *editors.BindingSubjectsEditor) { e.EnsureSubject(user) },
			want:  subjects(user, account("a", "x")),
		},
		"kind, name and namespace identify a subject": {
			start: subjects(user, account("a", "x"), account("a", "y"), account("b", "x")),
			edit: func(e *editors.BindingSubjectsEditor) {
				e.EnsureServiceAccount("b", "y")
				e.EnsureServiceAccount("a", "x")
			},
			want: subjects(user, account("a", "x"), account("a", "y"), account("b", "x"), account("b", "y")),
		},
		"a ServiceAccount is removed, and no other one": {
			start: subjects(user, account("a", "x"), account("a", "y"), account("a", "x")),
			edit: func(e *editors.BindingSubjectsEditor) {
				e.RemoveServiceAccount("a", "x")
				e.RemoveServiceAccount("z", "x")
			},
			want: subjects(user, account("a", "y")),
		},
		"a user is removed, whatever its API group": {
			start: subjects(user, account("a", "")),
			edit:  func(e *editors.BindingSubjectsEditor) { e.RemoveSubject("User", "a", "") },
			want:  subjects(account("a", "")),
		},
		"nothing is removed from nothing": {edit: func(e *editors.BindingSubjectsEditor) { e.RemoveSubject("User", "a", "") }},
		"Raw is the value itself": {
			edit: func(e *editors.BindingSubjectsEditor) { *e.Raw() = subjects(user) },
			want: subjects(user),
		},
	})
}
