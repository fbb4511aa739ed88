// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

func TestCheckRoleRef(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why  string
		ref  rbacv1.RoleRef
		want string
	}{
		{"a complete reference", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"}, ""},
		{"the group is not filled in by the API server", rbacv1.RoleRef{Kind: "Role", Name: "reader"}, "roleRef.apiGroup must not be empty; set it to rbac.authorization.k8s.io"},
		{"a name can be one of two kinds", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Name: "reader"}, "roleRef.kind must not be empty"},
		{"no name", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role"}, "roleRef.name must not be empty"},
		{"all that is wrong is named", rbacv1.RoleRef{Kind: "Role"}, "roleRef.apiGroup must not be empty; set it to rbac.authorization.k8s.io\nroleRef.name must not be empty"},
	} {
		got := ""
		if err := CheckRoleRef(row.ref); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: unexpected error (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestAdded(t *testing.T) {
	t.Parallel()
	rule := rbacv1.PolicyRule{Verbs: []string{"get"}}
	edit := Added(rule)
	rule.Verbs[0] = "delete" // The edit has a copy.
	var rules []rbacv1.PolicyRule
	for range 2 {
		if err := edit(editors.NewPolicyRulesEditor(&rules)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]rbacv1.PolicyRule{{Verbs: []string{"get"}}}, rules); diff != "" {
		t.Errorf("unexpected rules (-want +got):\n%s", diff)
	}
}
