// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
)

// mute is a server that does not answer.
type mute struct{ client.Reader }

var errMute = errors.New("no answer")

func (mute) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errMute
}

func TestStillWants(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		act    func(r *rig, w *worker, s *pass, widget *Widget)
		want   error
	}{
		{"nothing has happened", func(*rig, *worker, *pass, *Widget) {}, nil},
		{"what this pass has written is known", func(r *rig, w *worker, s *pass, _ *Widget) {
			s.status.Revision = 7
			if err := s.record.SaveStatus(r.tb.Context()); err != nil {
				r.tb.Fatal(err)
			}
		}, nil},
		{"it is being deleted", func(r *rig, _ *worker, _ *pass, widget *Widget) { r.delete(widget) }, resource.ErrChanged},
		{"it is gone", func(r *rig, _ *worker, _ *pass, widget *Widget) { r.end(widget) }, resource.ErrChanged},
		{"it declares something else", func(r *rig, _ *worker, _ *pass, widget *Widget) {
			change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(oneConfigMap) })
		}, resource.ErrChanged},
		{"the server does not say", func(_ *rig, w *worker, _ *pass, _ *Widget) { w.resource.Live = mute{} }, errMute},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			w := r.bareWorker(newWidget, "Widget")
			widget := r.widget("")
			widget.Finalizers = []string{"test.example.io/hold"}
			r.create(widget)
			widget.Status.Inventory = deployed("web")
			r.writeStatus(widget)
			s := r.begin(w, widget)
			test.act(r, w, s, widget)
			if err := s.owner().Confirm(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("want %v, got %v", test.want, err)
			}
		})
	}
}

func (r *rig) writeStatus(widget *Widget) {
	r.tb.Helper()
	if err := r.client.Status().Update(r.tb.Context(), widget); err != nil {
		r.tb.Fatal(err)
	}
}

// end deletes a widget that has a finalizer.
func (r *rig) end(widget *Widget) {
	r.tb.Helper()
	r.delete(widget)
	patch := client.RawPatch(apitypes.JSONPatchType, []byte(`[{"op": "remove", "path": "/metadata/finalizers"}]`))
	if err := r.client.Patch(r.tb.Context(), widget, patch); err != nil {
		r.tb.Fatal(err)
	}
	r.awaitGone(widget)
}

// twoWaves has a Deployment in its first wave which does not become ready, because its pods cannot be scheduled.
func (r *rig) twoWaves() string {
	return strings.ReplaceAll(`
apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {NAME/apply-order: "1"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {NAME/apply-order: "1", NAME/update-policy: ssa-merge}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {schedulingGates: [{name: test.example.io/closed}], containers: [{name: web, image: web}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, annotations: {NAME/apply-order: "2"}}
`, "NAME", r.name)
}

// openGate lets the pods of the Deployment be scheduled.
func (r *rig) openGate() {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		pods := &corev1.PodList{}
		if err := r.client.List(r.tb.Context(), pods, client.InNamespace(r.namespace)); err != nil {
			return false, err.Error()
		}
		for _, pod := range pods.Items {
			if len(pod.Spec.SchedulingGates) > 0 {
				pod.Spec.SchedulingGates = nil
				return r.client.Update(r.tb.Context(), &pod) == nil, "updating the pod"
			}
		}
		return false, "there is no pod"
	})
}

func (r *rig) uidOf(object client.Object, name string) string {
	r.tb.Helper()
	if err := r.client.Get(r.tb.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, object); err != nil {
		r.tb.Fatal(err)
	}
	return string(object.GetUID()) + "@" + object.GetResourceVersion()
}

// TestTwoLeaders runs two operators at once, as happens for a moment when a leader does not notice that it is none.
func TestTwoLeaders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(r.twoWaves())
	r.create(widget)
	awaitState(r, widget, StateProcessing, ReadyConditionReasonProcessing)
	before := strings.Split(r.uidOf(&corev1.ConfigMap{}, "first"), "@")[0]
	r.openGate()
	awaitReady(r, widget)
	r.settle(widget)
	diff(t, "UID of an object of the first wave", before, strings.Split(r.uidOf(&corev1.ConfigMap{}, "first"), "@")[0])
	diff(t, "state", StateReady, widget.Status.State)
	diff(t, "revision", int64(1), widget.Status.Revision)
	r.delete(widget)
	r.awaitGone(widget)
	if r.configMap("second") != nil {
		t.Error("a dependent is left behind")
	}
}
