// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// deployer lets the service account of that name do everything with the resources, in the namespace.
func (r *rig) deployer(resources ...string) *rbacv1.RoleBinding {
	r.tb.Helper()
	r.create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "deployer"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: resources, Verbs: []string{"*"}}},
	})
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "deployer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deployer"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: r.namespace, Name: "deployer"}},
	}
	r.create(binding)
	return binding
}

// TestDeletionEndsWithoutRightsIfNothingIsLeft has rights and dependents go before the component, as in a namespace
// that is deleted.
func TestDeletionEndsWithoutRightsIfNothingIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	binding := r.deployer("configmaps")
	widget := r.widget(oneConfigMap)
	widget.Spec.ServiceAccountName = "deployer"
	widget.Spec.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: "storage.k8s.io", Kind: "VolumeAttachment"}}
	r.create(widget)
	awaitReady(r, widget)
	stop()
	r.delete(binding)
	r.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "settings"}})
	r.delete(widget)
	r.start(r.reconciler(ReconcilerOptions{}))
	r.awaitGone(widget)
}

// TestForbiddenDeletionCanBeAbandoned has the right to delete taken away while there is something to delete.
func TestForbiddenDeletionCanBeAbandoned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	binding := r.deployer("configmaps")
	widget := r.widget(oneConfigMap)
	widget.Spec.ServiceAccountName = "deployer"
	r.create(widget)
	awaitReady(r, widget)
	r.delete(binding)
	r.delete(widget)
	await(r, widget, "advice", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, "forbidden") && strings.Contains(message, `set the annotation `+r.name+`/abandon-target to "true"`)
	})
	if r.configMap("settings") == nil {
		t.Fatal("the dependent is gone, although nobody may delete it")
	}
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/abandon-target", "true") })
	r.awaitGone(widget)
	diff(t, "dependent that is left behind", map[string]string{"color": "red"}, r.configMap("settings"))
}

// TestDeniedDeletionAbandonsNothing has a policy protect one of the dependents: this is not a missing permission, so
// the other dependents are not left behind. Invalid is the reason of policies that give none.
func TestDeniedDeletionAbandonsNothing(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"Forbidden", "Invalid"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start(r.reconciler(ReconcilerOptions{}))
			policy := testenv.Objects(t, strings.NewReplacer("NS", r.namespace, "REASON", reason).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [DELETE], resourceNames: [settings]}]
  validations: [{expression: "false", reason: REASON, message: "protected until the audit is over"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS, validationActions: [Deny]}
`))
			for _, object := range policy {
				r.create(object)
				t.Cleanup(func() { _ = r.client.Delete(context.Background(), object) })
			}
			widget := r.widget(oneConfigMap + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other, annotations: {" + r.name + "/delete-order: \"1\"}}}")
			r.create(widget)
			awaitReady(r, widget)
			settings := r.configMapObject("settings")
			testenv.Eventually(t, func() (bool, string) {
				return r.client.Delete(t.Context(), settings, client.DryRunAll) != nil, "the policy is not enforced yet"
			})
			change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/abandon-target", "true") })
			r.delete(widget)
			awaitState(r, widget, StateError, ReadyConditionReasonError)
			_, _, message := widget.Status.GetState()
			if !strings.Contains(message, "protected until the audit is over; allow it, or set the annotation "+r.name+"/orphan-dependents") || strings.Contains(message, "grant the permission") {
				t.Errorf("got %q", message)
			}
			for _, object := range policy {
				r.delete(object)
			}
			r.awaitGone(widget)
			if r.configMap("settings") != nil || r.configMap("other") != nil {
				t.Error("a dependent is left behind")
			}
		})
	}
}

func (r *rig) configMapObject(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
}

// TestLostKubeconfigDoesNotStrandWhatIsConnected has the Secret go before the operator has seen the deletion.
func TestLostKubeconfigDoesNotStrandWhatIsConnected(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	secret := r.secret("target", map[string]string{"value": kubeconfig(t)})
	r.create(secret)
	widget := r.widget(oneConfigMap)
	widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
	r.create(widget)
	awaitReady(r, widget)
	r.delete(secret)
	awaitState(r, widget, StatePending, ReadyConditionReasonRetrying)
	r.delete(widget)
	r.awaitGone(widget)
	if r.configMap("settings") != nil {
		t.Error("the dependent is left behind")
	}
	testenv.Eventually(t, func() (bool, string) {
		return r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget) != nil, "the component is still there"
	})
}
