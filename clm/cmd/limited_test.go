// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// user makes a ServiceAccount that may do in the namespace what the rules say, and returns the flag that has clm work
// as it.
func (p *place) user(name string, rules ...rbacv1.PolicyRule) string {
	p.Helper()
	meta := metav1.ObjectMeta{Namespace: p.namespace, Name: name}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.namespace, Name: name}},
		},
	} {
		if err := p.client.Create(p.Context(), object); err != nil {
			p.Fatal(err)
		}
	}
	return "--as=system:serviceaccount:" + p.namespace + ":" + name
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// versions are those of all objects that are a part of records or locks, or belong to releases.
func (p *place) versions() map[string]string {
	p.Helper()
	found := map[string]string{}
	for apiVersion, kinds := range map[string][]string{"v1": {"Secret", "ConfigMap", "Service"}, "apps/v1": {"Deployment"}, "coordination.k8s.io/v1": {"Lease"}} {
		for _, kind := range kinds {
			list := &metav1.PartialObjectMetadataList{}
			list.APIVersion, list.Kind = apiVersion, kind+"List"
			if err := p.client.List(p.Context(), list, client.InNamespace(p.namespace)); err != nil {
				p.Fatal(err)
			}
			for _, item := range list.Items {
				if item.Name != "kube-root-ca.crt" {
					// Generations do not grow with what controllers report.
					version := item.ResourceVersion
					if item.Generation > 0 {
						version = fmt.Sprint("generation ", item.Generation)
					}
					found[kind+" "+item.Name] = version
				}
			}
		}
	}
	return found
}
