// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// endless is a manifest of a Job that is a deletion hook and does not end.
func (r *rig) endless(name, hook string) string {
	return strings.Replace(r.job(name, "deletion-hook", hook), "template: {", "template: {metadata: {annotations: {"+sandbox.AnnotationNeverReady+`: "true"}}, `, 1)
}

// awaitJob waits for a Job, and returns it.
func (r *rig) awaitJob(name string) *batchv1.Job {
	r.tb.Helper()
	job := &batchv1.Job{}
	testenv.Eventually(r.tb, func() (bool, string) {
		err := r.client.Get(r.tb.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, job)
		return err == nil, "no Job " + name
	})
	return job
}

// TestAPostDeleteHookWithTheNameOfADependent must not be taken for what the record of a restarted operator still has.
func TestAPostDeleteHookWithTheNameOfADependent(t *testing.T) {
	t.Parallel()
	options := ReconcilerOptions{inlineLimit: 1}
	r := newRig(t)
	stop := r.start(r.reconciler(options))
	widget := r.widget(oneConfigMap + r.job("twin", "update-policy", "recreate") + r.endless("twin", "post-delete"))
	r.create(widget)
	awaitReady(r, widget)
	first := r.awaitJob("twin").UID
	r.delete(widget)
	await(r, widget, "the hook to be awaited", func() bool {
		hooks := widget.Status.DeletionHooks
		return hooks.Stage == DeletionStagePostDelete && len(hooks.Inventory) == 1 && hooks.Inventory[0].UID != ""
	})
	hook := r.awaitJob("twin").UID
	if hook == first {
		t.Fatal("want another Job")
	}
	stop()
	own := r.reconciler(options)
	r.start(own)
	testenv.Eventually(t, func() (bool, string) {
		_, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name))
		return err == nil, "no pass"
	})
	r.settle(widget)
	if again := r.awaitJob("twin"); again.UID != hook || again.DeletionTimestamp != nil {
		t.Error("the hook was deleted while it ran")
	}
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/skip-deletion-hooks": "true"} })
	r.awaitGone(widget)
	diff(t, "what is left", 0, len(r.members(r.namespace)))
}

// TestALostTargetWithHooksThatHaveNotBegun has nothing in the lost cluster yet: the hooks would be left out silently.
func TestALostTargetWithHooksThatHaveNotBegun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	widget := deepCopy(s.widget)
	widget.DeletionTimestamp = new(metav1.Now())
	widget.Status.DeletionHooks = &DeletionHooks{Objects: 1, Stage: DeletionStagePostDelete}
	p, err := s.worker.newPass(t.Context(), widget, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := p.destination.Connect(t.Context(), errors.New("no kubeconfig"))
	if o.Kind != outcomes.Retriable || !strings.Contains(o.Message, "cannot reach the cluster of the deletion hooks: no kubeconfig") {
		t.Errorf("want the hooks to be waited for, got %+v", o)
	}
	p.status.DeletionHooks.Stage = DeletionStagePostDeleteCleanup
	diff(t, "outcome when the hooks are over", outcomes.Continue, p.destination.Connect(t.Context(), errors.New("no kubeconfig")).Kind)
}

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
			if r.configMap("settings") == nil || r.configMap("other") == nil {
				t.Error("a dependent is gone although the deletion of one was refused")
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
