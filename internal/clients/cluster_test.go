// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/testenv"
)

func configMap(namespace string, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestRemoteCluster(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	raw, err := os.ReadFile(testenv.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	// The local cluster is none: whatever works below works by the kubeconfig.
	connection := get(t, newFactory(t, clients.Options{}), clients.Key{KubeConfig: raw})

	object := configMap(namespace, "remote")
	if err := connection.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	groups, err := connection.DiscoveryClient().ServerGroups()
	if err != nil || len(groups.Groups) == 0 {
		t.Errorf("discovery found %v and error %v", groups, err)
	}
	connection.EventRecorder().Event(object, corev1.EventTypeNormal, "Tested", "by a test")
	testenv.Eventually(t, func() (bool, string) {
		var events corev1.EventList
		if err := testenv.Client(t).List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
			return false, err.Error()
		}
		for _, event := range events.Items {
			if event.InvolvedObject.UID == object.UID && event.Source.Component == "operator.example.io" && event.Reason == "Tested" {
				return true, ""
			}
		}
		return false, "the event is not there"
	})
}

func TestImpersonatedUserIsBoundByRBAC(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	config, requests := testenv.CountingConfig(t)
	factory := newFactory(t, clients.Options{Config: config})
	user := "system:serviceaccount:" + namespace + ":limited"
	connection := get(t, factory, clients.Key{User: user})
	if all := requests.All(); len(all) > 0 {
		t.Errorf("making a connection sends requests:\n%s", requests)
	}

	err := connection.Create(t.Context(), configMap(namespace, "first"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), user) {
		t.Fatalf("got error %v, want one that forbids %s", err, user)
	}

	meta := metav1.ObjectMeta{Namespace: namespace, Name: "limited"}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "limited"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "limited"},
		},
	} {
		if err := factory.Local().Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, func() (bool, string) {
		err := connection.Create(t.Context(), configMap(namespace, "first"))
		return err == nil || apierrors.IsAlreadyExists(err), "the role has no effect yet"
	})
	if err := connection.Delete(t.Context(), configMap(namespace, "first")); !apierrors.IsForbidden(err) {
		t.Errorf("got error %v, although the role does not allow to delete", err)
	}
}

func TestWarningsOfTheServer(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	factory := newFactory(t, clients.Options{Config: testenv.Config(t)})
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"namespace": namespace, "name": "odd"},
		"nonsense":   true,
	}}
	var collector clients.Collector
	err := factory.Local().Create(clients.WithWarnings(t.Context(), &collector), object, client.FieldValidation(metav1.FieldValidationWarn))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`unknown field "nonsense"`}, collector.Warnings()); diff != "" {
		t.Errorf("unexpected warnings (-want +got):\n%s", diff)
	}
}
