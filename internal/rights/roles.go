// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Roles returns a Role of the given name for each namespace, and a ClusterRole for the whole cluster, as far as they
// are needed. If a service account is named, the bindings that give it these roles come after them.
func Roles(needed map[string][]rbacv1.PolicyRule, name string, serviceAccount apitypes.NamespacedName) []client.Object {
	var roles, bindings []client.Object
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: serviceAccount.Namespace, Name: serviceAccount.Name}}
	for _, namespace := range slices.Sorted(maps.Keys(needed)) {
		metadata := metav1.ObjectMeta{Namespace: namespace, Name: name}
		if namespace == wholeCluster {
			roles = append(roles, &rbacv1.ClusterRole{TypeMeta: typeOf("ClusterRole"), ObjectMeta: metadata, Rules: needed[namespace]})
			bindings = append(bindings, &rbacv1.ClusterRoleBinding{
				TypeMeta: typeOf("ClusterRoleBinding"), ObjectMeta: metadata, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			})
			continue
		}
		roles = append(roles, &rbacv1.Role{TypeMeta: typeOf("Role"), ObjectMeta: metadata, Rules: needed[namespace]})
		bindings = append(bindings, &rbacv1.RoleBinding{
			TypeMeta: typeOf("RoleBinding"), ObjectMeta: metadata, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		})
	}
	if serviceAccount.Name == "" {
		return roles
	}
	return append(roles, bindings...)
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
