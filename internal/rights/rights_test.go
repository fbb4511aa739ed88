// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/rights"
)

// parse reads objects, which are separated by lines of dashes.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

// lines writes one rule per line: group/resource, names, verbs; or paths, verbs.
func lines(needed map[string][]rbacv1.PolicyRule) map[string][]string {
	result := map[string][]string{}
	for namespace, rules := range needed {
		for _, rule := range rules {
			if len(rule.NonResourceURLs) > 0 {
				result[namespace] = append(result[namespace], strings.Join(rule.NonResourceURLs, " ")+": "+strings.Join(rule.Verbs, " "))
				continue
			}
			line := rule.APIGroups[0] + "/" + strings.Join(rule.Resources, ",") + " " + strings.Join(rule.ResourceNames, ",") + ": " + strings.Join(rule.Verbs, " ")
			result[namespace] = append(result[namespace], line)
		}
	}
	return result
}

func TestOf(t *testing.T) {
	t.Parallel()
	const all, merging = ": get list watch create update patch delete", ": get list watch create patch delete"
	for _, test := range []struct {
		reason  string
		request rights.Request
		objects string
		want    map[string][]string
	}{
		{
			reason:  "kinds of a group for which the same is needed are in one rule, and namespaces have rules of their own",
			objects: "{apiVersion: apps/v1, kind: Deployment}\n---\n{apiVersion: apps/v1, kind: StatefulSet}\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b}}",
			want:    map[string][]string{"shop": {"apps/deployments,statefulsets " + all}, "b": {"apps/deployments " + all}},
		},
		{
			reason:  "where nothing is taken away from others, nothing is updated; annotations count more",
			request: rights.Request{UpdatePolicy: "ssa-merge"},
			objects: "{apiVersion: v1, kind: Service}\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {annotations: {clm.cs.sap.com/update-policy: replace}}}",
			want:    map[string][]string{"shop": {"/services " + merging, "apps/deployments " + all}},
		},
		{
			reason:  "a Role needs its namespace; so there is none for namespaces that are among the objects",
			objects: "{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n---\n{apiVersion: v1, kind: Service, metadata: {namespace: b}}",
			want:    map[string][]string{"": {"/namespaces,services " + all, "*/* : list"}},
		},
		{
			reason:  "a namespace is looked into before it is deleted, except the own one, which is kept",
			objects: "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
			want:    map[string][]string{"": {"/namespaces " + all}},
		},
		{
			reason:  "nor for the own one, if it has to be created",
			request: rights.Request{CreateNamespace: true},
			objects: "{apiVersion: v1, kind: Service}",
			want:    map[string][]string{"": {"/namespaces : create", "/services " + all}},
		},
		{
			reason: "roles are handed out",
			objects: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}\n---\n" +
				"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {kind: ClusterRole, name: view}}",
			want: map[string][]string{"": {
				"rbac.authorization.k8s.io/clusterrolebindings,clusterroles " + all,
				"rbac.authorization.k8s.io/clusterroles a: escalate", "rbac.authorization.k8s.io/clusterroles view: bind",
			}},
		},
		{
			reason: "types are called as their definition says, and looked for in the whole cluster before they go",
			objects: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: x.io, scope: Namespaced, names: {kind: Leaf, plural: leaves}}}\n---\n" +
				"{apiVersion: x.io/v1, kind: Leaf}",
			want: map[string][]string{
				"": {
					"admissionregistration.k8s.io/validatingadmissionpolicies,validatingadmissionpolicybindings : get create patch delete",
					"apiextensions.k8s.io/customresourcedefinitions " + all, "x.io/leaves : list watch",
				},
				"shop": {"/configmaps : create", "x.io/leaves " + all},
			},
		},
		{
			reason:  "an APIService may bring any types of its group",
			objects: "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, spec: {group: x.io}}",
			want:    map[string][]string{"": {"apiregistration.k8s.io/apiservices " + all, "x.io/* : list"}},
		},
		{
			reason:  "a claim may belong to the default class, whichever that is",
			objects: "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: fast}}\n---\n{apiVersion: v1, kind: PersistentVolumeClaim}",
			want:    map[string][]string{"": {"storage.k8s.io/storageclasses : get"}, "shop": {"/persistentvolumeclaims " + all}},
		},
		{
			reason: "nothing that owns claims with data is recreated, directly or through other objects; a Job owns none",
			request: rights.Request{UpdatePolicy: "recreate", Resolve: func(kind schema.GroupKind) (rights.Resource, error) {
				return rights.Resource{GroupResource: schema.GroupResource{Group: kind.Group, Resource: "geese"}, Namespaced: kind.Kind == "Goose"}, nil
			}},
			objects: "{apiVersion: batch/v1, kind: Job, metadata: {namespace: b}}\n---\n{apiVersion: y.io/v1, kind: Goose}\n---\n{apiVersion: z.io/v1, kind: Flock}\n---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: c}}",
			want: map[string][]string{
				"":     {"/persistentvolumeclaims,persistentvolumes : list", "z.io/geese " + merging},
				"b":    {"batch/jobs " + merging},
				"c":    {"/persistentvolumeclaims : list", "apps/statefulsets " + merging},
				"shop": {"/persistentvolumeclaims : list", "y.io/geese " + merging},
			},
		},
		{
			reason: "the cluster knows other types",
			request: rights.Request{Resolve: func(kind schema.GroupKind) (rights.Resource, error) {
				return rights.Resource{GroupResource: schema.GroupResource{Group: kind.Group, Resource: "geese"}}, nil
			}},
			objects: "{apiVersion: y.io/v1, kind: Goose}",
			want:    map[string][]string{"": {"y.io/geese " + all}},
		},
		{
			reason:  "objects that may be anywhere need rules for the whole cluster",
			request: rights.Request{Everywhere: true},
			objects: "{apiVersion: v1, kind: Service}",
			want:    map[string][]string{"": {"/services " + all}},
		},
		{
			reason:  "roles that may have any name are written by who has their rights, for all objects",
			request: rights.Request{Everywhere: true},
			objects: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
rules: [{apiGroups: [x.io], resources: [geese/status], resourceNames: [a], verbs: [patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}`,
			want: map[string][]string{"": {
				"rbac.authorization.k8s.io/clusterrolebindings,clusterroles,rolebindings " + all, "rbac.authorization.k8s.io/clusterroles view: bind",
				"x.io/geese/status : patch",
			}},
		},
		{
			reason:  "a role may have rights that no dependent takes, also on paths of the API",
			request: rights.Request{Everywhere: true},
			objects: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
rules:
- {apiGroups: [policy], resources: [podsecuritypolicies], verbs: [use, "*", get, deletecollection]}
- {nonResourceURLs: [/metrics, /healthz], verbs: [get]}
- {nonResourceURLs: [/metrics, /logs/*], verbs: [post]}
- {nonResourceURLs: [/version], verbs: [get]}`,
			want: map[string][]string{"": {
				"policy/podsecuritypolicies : get * deletecollection use", "rbac.authorization.k8s.io/clusterroles " + all,
				"/healthz /version: get", "/logs/*: post", "/metrics: get post",
			}},
		},
		{
			reason:  "of a role of a known name, no rules are needed",
			objects: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{nonResourceURLs: [/metrics], verbs: [get]}]}",
			want:    map[string][]string{"": {"rbac.authorization.k8s.io/clusterroles " + all, "rbac.authorization.k8s.io/clusterroles a: escalate"}},
		},
		{
			reason: "what is recorded is in the namespace",
			request: rights.Request{Record: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"record"}, Verbs: []string{"get"}},
			}},
			objects: "{apiVersion: v1, kind: Service}",
			want:    map[string][]string{"shop": {"/secrets record: get", "/services " + all}},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			test.request.ReconcilerName, test.request.Namespace = "clm.cs.sap.com", "shop"
			test.request.Objects = parse(t, test.objects)
			needed, err := rights.Of(test.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, lines(needed)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestErrorsNameTheObject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, object, want string }{
		{"nobody knows the type", "{apiVersion: y.io/v1, kind: Goose, metadata: {name: a}}", "Goose.y.io a: its type"},
		{
			"a definition that defines nothing", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}",
			"CustomResourceDefinition a: spec.group",
		},
	} {
		_, err := rights.Of(rights.Request{ReconcilerName: "clm.cs.sap.com", Namespace: "shop", Objects: parse(t, test.object)})
		if err == nil || !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: expected an error with %q, got %v", test.reason, test.want, err)
		}
	}
}
