// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/scaffold/internal/contents"
)

// permissionsOf returns what an operator with these options needs.
func permissionsOf(options *Options, contents *contents.Contents) *Permissions {
	rule := func(reason, group string, resources, verbs []string) Rule {
		return Rule{PolicyRule: rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}, Reason: reason}
	}
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	look := []string{"get", "list", "watch"}
	permissions := &Permissions{
		Cluster: []Rule{
			rule("the component", options.GroupName, []string{options.Resource}, append(look, "update", "patch")),
			rule("the status of the component", options.GroupName, []string{options.Resource + "/status", options.Resource + "/finalizers"}, []string{"get", "update", "patch"}),
			rule("events on the component", "", []string{"events"}, []string{"create", "patch"}),
			rule("events on the component", "events.k8s.io", []string{"events"}, []string{"create", "patch"}),
			rule("inventories too large for the status, and references", "", []string{"configmaps", "secrets"}, all),
			rule("namespaces of dependents", "", []string{"namespaces"}, append(look, "create")),
			rule("types of dependents", "apiextensions.k8s.io", []string{"customresourcedefinitions"}, look),
			rule("types of dependents", "apiregistration.k8s.io", []string{"apiservices"}, look),
		},
		Namespace: []Rule{
			rule("leader election", "coordination.k8s.io", []string{"leases"}, []string{"get", "create", "update"}),
		},
	}
	for _, needed := range contents.Rules {
		permissions.Cluster = append(permissions.Cluster, Rule{PolicyRule: needed, Reason: "dependents"})
	}
	permissions.Notes = contents.Notes
	return permissions
}
