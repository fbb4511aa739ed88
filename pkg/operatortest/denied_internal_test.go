// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestDenied names the right that was lacking, whatever restricts those that exist.
func TestDenied(t *testing.T) {
	t.Parallel()
	forbidden := func(method, group, resource, namespace, name string) requests.Request {
		return requests.Request{Method: method, Group: group, Resource: resource, Namespace: namespace, Name: name, Status: http.StatusForbidden}
	}
	for reason, tc := range map[string]struct {
		right   grant
		request requests.Request
		denied  string
	}{
		"no right":                           {grant{}, forbidden(http.MethodPatch, "apps", "deployments", "a", "web"), "patch deployments.apps"},
		"an apply that has to create":        {grant{verb: "patch", resource: "secrets"}, forbidden(http.MethodPatch, "", "secrets", "a", "x"), "create secrets"},
		"another namespace":                  {grant{verb: "delete", resource: "secrets", namespace: "b"}, forbidden(http.MethodDelete, "", "secrets", "a", "x"), "delete secrets"},
		"another name":                       {grant{verb: "get", resource: "secrets", names: []string{"y"}}, forbidden(http.MethodGet, "", "secrets", "a", "x"), "get secrets"},
		"a name where there can be none":     {grant{verb: "create", resource: "secrets", names: []string{"x"}}, forbidden(http.MethodPost, "", "secrets", "a", ""), "create secrets"},
		"admission denies a named object":    {grant{verb: "delete", resource: "secrets", names: []string{"x"}}, forbidden(http.MethodDelete, "", "secrets", "a", "x"), ""},
		"admission denies in spite of *":     {grant{verb: "*", group: "*", resource: "*"}, forbidden(http.MethodPatch, "apps", "deployments", "a", "web"), ""},
		"what was not denied is not lacking": {grant{}, requests.Request{Method: http.MethodGet, Resource: "secrets", Status: http.StatusNotFound}, ""},
	} {
		if got := (grants{tc.right}).denied(tc.request); got != tc.denied {
			t.Errorf("%s: want %q, got %q", reason, tc.denied, got)
		}
	}
}

// TestDeniedByTheServer has the API server deny an apply because its user may patch, and not create.
func TestDeniedByTheServer(t *testing.T) {
	t.Parallel()
	admin, namespace := testenv.Client(t), testenv.Namespace(t)
	name := metav1.ObjectMeta{Namespace: namespace, Name: "patches"}
	role := &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"patch"}}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	c := &Cluster{requests: &requests.Recorder{}, rights: grantsIn(role.Rules, namespace)}
	config := rest.CopyConfig(testenv.Config(t))
	config.Impersonate = rest.ImpersonationConfig{UserName: namespace}
	config.Wrap(c.requests.Wrap)
	user, err := client.New(config, client.Options{Mapper: admin.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(name string) error {
		object := testenv.Object(t, "{apiVersion: v1, kind: ConfigMap}")
		object.SetNamespace(namespace)
		object.SetName(name)
		return user.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("x"))
	}
	if err := admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "existing"}}); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		err := apply("existing")
		return err == nil, fmt.Sprint(err)
	})
	if err := apply("missing"); !apierrors.IsForbidden(err) {
		t.Fatalf("the apply should be denied, got %v", err)
	}
	all := c.requests.All()
	if got := c.rights.denied(all[len(all)-1]); got != "create configmaps" {
		t.Errorf("got %q", got)
	}
}
