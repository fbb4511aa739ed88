// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rights are what whoever changes a release has to be allowed in its namespace for the sake of the record and the lock.
// Chunks cannot be named: their names depend on their content. Nor can what is created be. Of the ancestor's record it
// is just found out that there is none.
func Rights(name string) []rbacv1.PolicyRule {
	lock := []string{prefix + name}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "patch", "delete"}},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"configmaps"}, ResourceNames: []string{ancestorPrefix + name}, Verbs: []string{"get"}},
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, ResourceNames: lock, Verbs: []string{"get", "update", "delete"}},
	}
}
