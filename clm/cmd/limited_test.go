// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// user makes a ServiceAccount that may do in the namespace what the rules say, and returns the flag that has clm work as it.
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

// expectDenied runs a command, which has to end with an error of which all the words are a part.
func (p *place) expectDenied(words []string, args ...string) {
	p.Helper()
	got := p.clm(args...)
	if got.code != 1 {
		p.Errorf("clm %s: want exit code 1, got %d:\n%s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	}
	for _, word := range words {
		if !strings.Contains(got.stderr, word) {
			p.Errorf("clm %s: want an error that says %q, got:\n%s", strings.Join(args, " "), word, got.stderr)
		}
	}
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

// TestWhoMayNotCreateDeployments may do everything else, so the first wave is applied.
func TestWhoMayNotCreateDeployments(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	all := []string{"get", "list", "watch", "patch", "update", "delete", "create"}
	user := p.user("operator", rule("", "*", all...), rule("coordination.k8s.io", "*", all...), rule("apps", "deployments", all[:6]...))
	source := p.file("app.yaml", twoWaves)
	for range 2 {
		p.expectDenied([]string{"Deployment " + p.namespace + "/web", "cannot create resource \"deployments\""}, "apply", "web", source, user)
		if diff := cmp.Diff(value("1"), p.configMap("first")); diff != "" {
			t.Error(diff)
		}
		p.expectHistory("Failed")
		if p.locked("web") {
			t.Error("the lock was not given back")
		}
	}
	p.must("apply", "web", source)
	p.expectHistory("Ready")

	p.expectDenied([]string{"cannot delete resource \"deployments\""}, "delete", "web", p.user("keeper", rule("", "*", all...),
		rule("coordination.k8s.io", "*", all...), rule("apps", "deployments", "get", "list", "watch")))
	if p.locked("web") {
		t.Error("the lock was not given back")
	}
	p.must("delete", "web")
	if left := p.versions(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
