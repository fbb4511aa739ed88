// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckApplied(t, NewBuilder(sample()))
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("rules", m.EditRules))

	reads, lists := rbacv1.PolicyRule{Verbs: []string{"get"}}, rbacv1.PolicyRule{Verbs: []string{"list"}}
	having := func(rules ...rbacv1.PolicyRule) *rbacv1.Role { return &rbacv1.Role{Rules: rules} }
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*rbacv1.Role, *Mutator]{
		{Why: "AddRule adds a rule", Start: having(reads), Record: func(m *Mutator) { m.AddRule(lists) }, Want: having(reads, lists)},
		{Why: "AddRule leaves a rule where it is", Start: having(lists, reads), Record: func(m *Mutator) { m.AddRule(lists) }, Want: having(lists, reads)},
	})
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "rbac.authorization.k8s.io/v1/Role/default/sample")
}
