// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestStandardContent says what is in each namespace, and is not held to be of value.
func TestStandardContent(t *testing.T) {
	t.Parallel()
	token := map[string]string{"kubernetes.io/service-account.name": "default", "kubernetes.io/service-account.uid": "u1"}
	for _, tc := range []struct {
		reason      string
		kind        schema.GroupKind
		name        string
		annotations map[string]string
		want        bool
	}{
		{"each namespace has it", schema.GroupKind{Kind: "ServiceAccount"}, "default", nil, true},
		{"others belong to users", schema.GroupKind{Kind: "ServiceAccount"}, "web", nil, false},
		{"each namespace has it", schema.GroupKind{Kind: "ConfigMap"}, "kube-root-ca.crt", nil, true},
		{"the name alone says nothing", schema.GroupKind{Kind: "Secret"}, "kube-root-ca.crt", nil, false},
		{"on OpenShift", schema.GroupKind{Kind: "ConfigMap"}, "openshift-service-ca.crt", nil, true},
		{"on OpenShift", schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, "system:deployers", nil, true},
		{"a role binding of a user", schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, "admins", nil, false},
		{"a token goes with its account", schema.GroupKind{Kind: "Secret"}, "default-token-x", token, true},
		{"a token that was not filled in is a secret as any other", schema.GroupKind{Kind: "Secret"}, "x", map[string]string{"kubernetes.io/service-account.name": "default"}, false},
		{"only Secrets are tokens", schema.GroupKind{Kind: "ConfigMap"}, "x", token, false},
	} {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: tc.name, Annotations: tc.annotations}}
		if got := isStandard(tc.kind, object); got != tc.want {
			t.Errorf("%s: %s %s: got %v", tc.reason, tc.kind, tc.name, got)
		}
	}
	for kind, want := range map[schema.GroupKind]bool{
		{Kind: "Event"}: true, {Group: "events.k8s.io", Kind: "Event"}: true, {Group: "example.com", Kind: "Event"}: false,
		{Kind: "Endpoints"}: true, {Group: "discovery.k8s.io", Kind: "EndpointSlice"}: true, {Group: "coordination.k8s.io", Kind: "Lease"}: true,
		{Kind: "PersistentVolumeClaim"}: false, {Kind: "Pod"}: false,
	} {
		if got := isTransient(kind); got != want {
			t.Errorf("%s: got %v", kind, got)
		}
	}
}

func TestHeldData(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, kind string
		spec         map[string]any
		want         string
	}{
		{"bound", "PersistentVolumeClaim", map[string]any{"volumeName": "pv1"}, "data, in PersistentVolume pv1"},
		{"not bound yet", "PersistentVolumeClaim", map[string]any{}, ""},
		{"claimed", "PersistentVolume", map[string]any{"claimRef": map[string]any{"namespace": "shop", "name": "data"}}, "the data of PersistentVolumeClaim shop/data"},
		{"claimed once, by what is not known", "PersistentVolume", map[string]any{"claimRef": map[string]any{"name": "data"}}, "the data of PersistentVolumeClaim data"},
		{"never claimed", "PersistentVolume", map[string]any{}, ""},
		{"another kind", "ConfigMap", map[string]any{"volumeName": "pv1"}, ""},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": tc.kind, "spec": tc.spec}}
		if got := heldData(object); got != tc.want {
			t.Errorf("%s: got %q", tc.reason, got)
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
