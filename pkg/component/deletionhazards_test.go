// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
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
	if o.Kind != outcomes.Retriable || !strings.Contains(o.Message, "with 0 dependents, and with unfinished deletion hooks, cannot be reached: no kubeconfig") {
		t.Errorf("want the hooks to be waited for, got %+v", o)
	}
	p.status.DeletionHooks.Stage = DeletionStagePostDeleteCleanup
	diff(t, "outcome when the hooks are over", outcomes.Continue, p.destination.Connect(t.Context(), errors.New("no kubeconfig")).Kind)
}
