// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Need is a way to use an operator that takes further rights. Its text is the name of the switch in the values of the
// operator's chart.
type Need string

const (
	// NeedNothing means that the rights are needed in any case.
	NeedNothing Need = ""
	// NeedReferences means that components refer to Secrets or ConfigMaps, such as one with a kubeconfig.
	NeedReferences Need = "references"
	// NeedImpersonation means that dependents are written as a service account that the component chooses.
	NeedImpersonation Need = "impersonation"
	// NeedNamespaces means that dependents are in other namespaces than the component, and that the operator creates
	// these.
	NeedNamespaces Need = "namespaces"
	// NeedDeletionHooks means that there are hooks that run when the component is deleted.
	NeedDeletionHooks Need = "deletionHooks"
)

// Purpose is something that an operator does, beside what it does with dependents, and the rights that this takes.
type Purpose struct {
	// Text says what for, in a few words.
	Text string
	// Need says when it is needed.
	Need Need
	// Home means that the rights are needed in the namespace of the operator only, instead of the whole cluster.
	Home bool
	// Rules are the rights.
	Rules []rbacv1.PolicyRule
}

// OfOperator returns what an operator does whose components are of the given resource. With these rights and those of
// [Of] for the dependents, no request of a component's life is denied, and each right is used in it, which a test of
// the scaffolder checks with the role of a chart.
func OfOperator(components schema.GroupResource) []Purpose {
	purpose := func(text string, need Need, group string, resources, verbs []string) Purpose {
		return Purpose{Text: text, Need: need, Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: resources, Verbs: verbs}}}
	}
	read := []string{"get", "list", "watch"}
	state := []string{"get", "list", "create", "patch", "delete"}

	cluster := purpose("recognizing the cluster", NeedNothing, "", []string{"namespaces"}, []string{"get"})
	cluster.Rules[0].ResourceNames = []string{"kube-system"}
	election := purpose("leader election", NeedNothing, "coordination.k8s.io", []string{"leases"}, []string{"get", "create", "update"})
	election.Home = true
	return []Purpose{
		purpose("the component and its finalizer", NeedNothing, components.Group, []string{components.Resource}, append(read[:3:3], "patch")),
		purpose("the status of the component", NeedNothing, components.Group, []string{components.Resource + "/status"}, []string{"patch"}),
		purpose("events on the component", NeedNothing, "", []string{"events"}, []string{"create", "patch"}),
		purpose("inventories that are too large for the status", NeedNothing, "", []string{"configmaps"}, state),
		cluster,
		purpose("types of dependents", NeedNothing, "apiextensions.k8s.io", []string{"customresourcedefinitions"}, read),
		purpose("types of dependents", NeedNothing, "apiregistration.k8s.io", []string{"apiservices"}, read),
		purpose("Pods of dependents, to say why they are not ready", NeedNothing, "", []string{"pods"}, []string{"list"}),
		purpose("deletion hooks", NeedDeletionHooks, "", []string{"secrets"}, state),
		purpose("references of components", NeedReferences, "", []string{"configmaps", "secrets"}, read),
		purpose("service accounts that components choose", NeedImpersonation, "", []string{"serviceaccounts"}, []string{"impersonate"}),
		purpose("missing namespaces of dependents", NeedNamespaces, "", []string{"namespaces"}, []string{"create"}),
		election,
	}
}
