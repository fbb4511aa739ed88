// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.GROUP}
spec:
  group: GROUP
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// TestTypesThatATenantNamesAreLookedAtAsTheTenant has a tenant ask for the instances of types that its service account
// may not list.
func TestTypesThatATenantNamesAreLookedAtAsTheTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{DefaultServiceAccount: new("deployer")}))
	r.deployer("configmaps")
	secret := r.secret("merger-with-acme", map[string]string{"a": "b"})
	secret.Namespace = testenv.Namespace(t)
	r.create(secret)
	widget := r.widget(oneConfigMap)
	widget.Spec.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: "", Kind: "Secret"}, {Group: "*", Kind: "*"}}
	r.create(widget)
	awaitReady(r, widget)
	r.delete(widget)
	await(r, widget, "that it is said which right is missing", func() bool {
		_, _, message := widget.Status.GetState()
		if strings.Contains(message, secret.Name) {
			t.Fatal(message)
		}
		return strings.Contains(message, "is one of the additional managed types") && strings.Contains(message, `User "system:serviceaccount:`+r.namespace+`:deployer" cannot list resource`)
	})
	if r.configMap("settings") == nil {
		t.Error("the dependent is gone, although it is not known whether there are instances")
	}
	change(r, widget, func(w *Widget) { w.Spec.AdditionalManagedTypes = nil })
	r.awaitGone(widget)
}

// TestInstancesThatMustNotBeListedAreNotNamed has a component bring a type whose instances its service account may not
// list.
func TestInstancesThatMustNotBeListedAreNotNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{DefaultServiceAccount: new("deployer")}))
	r.deployer("configmaps")
	r.definer()
	group := testenv.UniqueName(t) + ".example.io"
	widget := r.widget(strings.ReplaceAll(gadgets, "GROUP", group))
	r.create(widget)
	awaitReady(r, widget)
	other := &unstructured.Unstructured{}
	other.SetAPIVersion(group + "/v1")
	other.SetKind("Gadget")
	other.SetNamespace(testenv.Namespace(t))
	other.SetName("merger-with-acme")
	r.create(other)
	r.delete(widget)
	awaitState(r, widget, StateDeleting, ReadyConditionReasonDeletionBlocked)
	_, _, message := widget.Status.GetState()
	diff(t, "message", "Deletion blocked by foreign instances of managed types, such as: Gadget."+group+" (no permission to list them)", message)
	r.delete(other)
	r.awaitGone(widget)
}

// definer lets the service account deployer define types.
func (r *rig) definer() {
	r.tb.Helper()
	name := "definer-" + r.namespace
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"*"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: r.namespace, Name: "deployer"}},
	}
	for _, object := range []client.Object{role, binding} {
		r.create(object)
		r.tb.Cleanup(func() { _ = r.client.Delete(context.WithoutCancel(r.tb.Context()), object) })
	}
}
