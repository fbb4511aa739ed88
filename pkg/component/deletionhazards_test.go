// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
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
	for reason, options := range map[string]ReconcilerOptions{
		"list": {}, "packed": {listLimit: 1}, "chunks": {listLimit: 1, inlineLimit: 1},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
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
		})
	}
}

// TestAHookThatIsDeletedWhereDriftIsReported has to run again nevertheless, as the message promises.
func TestAHookThatIsDeletedWhereDriftIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete", sandbox.AnnotationFail, "true"))
	widget.Spec.DriftPolicy = reconciler.DriftPolicyReport
	r.create(widget)
	awaitReady(r, widget)
	r.delete(widget)
	awaitState(r, widget, StateError, ReadyConditionReasonError)
	failed := r.awaitJob("before")
	if err := r.client.Delete(t.Context(), failed, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); err != nil {
			t.Fatal("the component is gone, although its hook has failed")
		}
		again := &batchv1.Job{}
		err := r.client.Get(t.Context(), client.ObjectKeyFromObject(failed), again)
		return err == nil && again.UID != failed.UID, "the hook does not run again"
	})
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/skip-deletion-hooks": "true"} })
	r.awaitGone(widget)
}

// TestADyingNamespaceAmongHooks has only those hooks left out that belong there.
func TestADyingNamespaceAmongHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	dying := testenv.Namespace(t)
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: dying, Name: "held", Finalizers: []string{"example.io/hold"}}}
	r.create(held)
	r.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: dying}})
	hook := strings.Replace(r.job("elsewhere", "deletion-hook", "pre-delete", "apply-order", "-1"), "{name: elsewhere,", "{name: elsewhere, namespace: "+dying+",", 1)
	widget := r.widget(oneConfigMap + hook + r.job("here", "deletion-hook", "pre-delete"))
	r.create(widget)
	awaitReady(r, widget)
	r.requests.Reset()
	r.delete(widget)
	r.awaitGone(widget)
	r.awaitEvent("HooksSkipped", "Pre-delete hooks can no longer be applied: Job "+dying+"/elsewhere")
	diff(t, "deletion", []string{"+jobs/here", "-jobs/here", "-configmaps/settings"}, r.story())
	change(r, held, func(c *corev1.ConfigMap) { c.Finalizers = nil })
}

// TestALostTargetWithHooks is about a cluster that is lost when all dependents are gone from it, but a hook is not over.
func TestALostTargetWithHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	secret := r.secret("target", map[string]string{"value": kubeconfig(t)})
	r.create(secret)
	widget := r.widget(oneConfigMap + r.endless("after", "post-delete"))
	widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
	r.create(widget)
	awaitReady(r, widget)
	r.delete(widget)
	await(r, widget, "the hook to be awaited", func() bool {
		hooks := widget.Status.DeletionHooks
		return hooks.Stage == DeletionStagePostDelete && len(hooks.Inventory) == 1 && hooks.Inventory[0].UID != ""
	})
	// A process that is connected goes on with its connection.
	stop()
	r.delete(secret)
	r.start(r.reconciler(ReconcilerOptions{}))
	awaitState(r, widget, StateDeletionPending, ReadyConditionReasonDeletionRetrying)
	if _, _, message := widget.Status.GetState(); !strings.Contains(message, "unfinished deletion hooks") {
		t.Errorf("want the message to name the hooks, got %q", message)
	}
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/abandon-target": "true"} })
	r.awaitGone(widget)
	r.awaitEvent("Abandoned", "1 dependent abandoned: Job "+r.namespace+"/after")
	diff(t, "secrets that are left", 0, len(r.hookSecrets()))
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
	if o.Kind != outcomes.Retriable || !strings.Contains(o.Message, "with 0 dependents, and with unfinished deletion hooks, cannot be reached: no kubeconfig") {
		t.Errorf("want the hooks to be waited for, got %+v", o)
	}
	p.status.DeletionHooks.Stage = DeletionStagePostDeleteCleanup
	diff(t, "outcome when the hooks are over", outcomes.Continue, p.destination.Connect(t.Context(), errors.New("no kubeconfig")).Kind)
}

// TestAStatusThatIsLostDuringTheDeletion must not have hooks left out silently.
func TestAStatusThatIsLostDuringTheDeletion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete"))
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	stop()
	if err := r.client.Status().Patch(t.Context(), widget, client.RawPatch("application/merge-patch+json", []byte(`{"status":null}`))); err != nil {
		t.Fatal(err)
	}
	r.delete(widget)
	r.start(r.reconciler(ReconcilerOptions{}))
	await(r, widget, "an explanation", func() bool {
		_, _, message := widget.Status.GetState()
		return widget.Status.State == StateDeletionPending && strings.HasPrefix(message, "Deletion hooks are lost: the status was empty")
	})
	if r.configMap("settings") == nil {
		t.Error("want the dependents to stay")
	}
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/skip-deletion-hooks": "true"} })
	r.awaitGone(widget)
	r.awaitEvent("HooksSkipped", "")
	diff(t, "what is left", []int{0, 0}, []int{len(r.hookSecrets()), len(r.members(r.namespace))})
}

// TestDeathBeforeHooksAreReferredTo leaves no Secret behind, whose finalizer would keep the namespace.
func TestDeathBeforeHooksAreReferredTo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hooks := oneConfigMap + r.job("before", "deletion-hook", "pre-delete")
	for reason, steps := range map[string][2]string{"hooks come": {oneConfigMap, hooks}, "hooks go": {hooks, oneConfigMap}} {
		for survived := range 4 {
			widget := r.widget(steps[0])
			r.create(widget)
			stop := r.start(r.reconciler(ReconcilerOptions{}))
			awaitReady(r, widget)
			r.settle(widget)
			stop()

			change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(steps[1]) })
			mortal := *r
			config, left := dying(rest.CopyConfig(r.config), survived)
			mortal.config = config
			stop = mortal.start(r.reconciler(ReconcilerOptions{}))
			testenv.Eventually(t, func() (bool, string) {
				r.read(widget)
				return atomic.LoadInt64(left) < 0 || widget.Status.IsReady() && widget.Status.ObservedGeneration == widget.Generation, "neither death nor the end"
			})
			stop()
			r.delete(widget)
			stop = r.start(r.reconciler(ReconcilerOptions{}))
			r.awaitGone(widget)
			stop()
			for _, secret := range r.hookSecrets() {
				t.Errorf("%s, death after %d writes: the Secret %s is left", reason, survived, secret.Name)
				change(r, &secret, func(s *corev1.Secret) { s.Finalizers = nil })
				r.delete(&secret)
			}
		}
	}
}

// TestHooksInANamespaceOfState follow the operator to another one, or stay known.
func TestHooksInANamespaceOfState(t *testing.T) {
	t.Parallel()
	other := testenv.Namespace(t)
	for reason, next := range map[string]string{"another namespace": other, "none": ""} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			stop := r.startGlobally(specObjects, ReconcilerOptions{StateNamespace: r.namespace})
			widget := r.globalWidget(r.job("before", "deletion-hook", "pre-delete"))
			r.create(widget)
			awaitReady(r, widget)
			diff(t, "Secrets", 1, len(r.hookSecrets()))
			stop()
			r.startGlobally(specObjects, ReconcilerOptions{StateNamespace: next, FormerStateNamespaces: []string{r.namespace}})
			r.delete(widget)
			r.awaitGone(widget)
			diff(t, "hooks that ran", []string{"+jobs/before", "-jobs/before"}, r.story())
			diff(t, "Secrets that are left", 0, len(r.hookSecrets()))
		})
	}
}
