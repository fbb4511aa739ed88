// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// TestForeignLabelDoesNotKeepAComponentBusy has a user who may write ConfigMaps give one of them the label of a
// component, and change it all the time.
func TestForeignLabelDoesNotKeepAComponentBusy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	generator := &pureSpecObjects{}
	counting := manifests.GeneratorFunc(func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
		return generator.Generate(ctx, namespace, name, parameters)
	})
	r.start(NewReconciler[*Widget](r.name, counting, ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	own := &corev1.ConfigMap{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "settings"}, own); err != nil {
		t.Fatal(err)
	}
	label := r.name + "/owner-id"
	bait := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "bait", Labels: map[string]string{label: own.Labels[label]}}}
	r.create(bait)
	begin, before := time.Now(), generator.count()
	for i := range 300 {
		change(r, bait, func(c *corev1.ConfigMap) { c.Data = map[string]string{"n": fmt.Sprint(i)} })
	}
	if got, allowed := generator.count()-before, queue.Burst+int(time.Since(begin)/queue.Recovery)+5; got > allowed {
		t.Errorf("%d passes for 300 changes of a foreign object, allowed are %d", got, allowed)
	}
	// What is wanted of the component itself does not wait.
	change(r, widget, func(w *Widget) {
		w.Spec.Objects = r.objects("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
	})
	await(r, widget, "the new spec to be reached", func() bool { return r.configMap("other") != nil })
}

func TestPriorityOfTheNextPass(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		script script
		want   *int
	}{
		{"a ready component is looked at only because time has passed", script{result: reconciler.Result{Done: true}}, new(queue.PriorityPeriodic)},
		{"so is one that waits for an event", script{}, new(queue.PriorityPeriodic)},
		{"what the engine asks for goes on with something", script{result: reconciler.Result{RequeueAfter: time.Second}}, new(queue.PriorityWoken)},
		{"a failure must not overtake what users change, nor wait behind all that is due", script{err: errors.New("no")}, new(queue.PriorityWoken)},
		{"a pass without a conclusion is repeated as it was", script{err: resource.ErrChanged}, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			test.script.client = s.script.client
			*s.script = test.script
			result, _ := s.worker.reconcile(t.Context(), client.ObjectKeyFromObject(s.widget))
			diff(t, "priority", test.want, result.Priority)
		})
	}
}
