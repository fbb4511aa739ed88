// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/types"
)

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

// leader starts an operator that waits for its turn as the leader, and gives up its turn when it is stopped. It does not lose its turn otherwise, however
// slow the machine is.
func (r *rig) leader(id string, reconciler *Reconciler[*Widget]) (stop func()) {
	r.tb.Helper()
	mgr := r.manager(func(options *ctrl.Options) {
		options.LeaderElection = true
		options.LeaderElectionID = id
		options.LeaderElectionNamespace = r.namespace
		options.LeaderElectionReleaseOnCancel = true
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = new(60*time.Second), new(40*time.Second), new(200*time.Millisecond)
	})
	if err := reconciler.SetupWithManager(mgr); err != nil {
		r.tb.Fatal(err)
	}
	return r.run(mgr)
}

func TestLeaderHandoverInTheMiddleOfAWave(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.leader("handover", r.reconciler(ReconcilerOptions{}))
	widget := r.widget(r.twoWaves())
	r.create(widget)
	awaitState(r, widget, StateProcessing, ReadyConditionReasonProcessing)
	r.leader("handover", r.reconciler(ReconcilerOptions{}))
	revision := widget.Status.Revision
	before := r.uidOf(&corev1.ConfigMap{}, "first")
	if r.configMap("second") != nil {
		t.Fatal("the second wave began too early")
	}
	stop()
	r.openGate()
	awaitReady(r, widget)
	diff(t, "object of the first wave, which must not have been written again", before, r.uidOf(&corev1.ConfigMap{}, "first"))
	if r.configMap("second") == nil {
		t.Error("the second wave is missing")
	}
	diff(t, "revision", revision, widget.Status.Revision)
	diff(t, "generation of the Deployment", int64(1), func() int64 {
		deployment := &appsv1.Deployment{}
		r.uidOf(deployment, "web")
		return deployment.Generation
	}())
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

// gizmo is a type that only the generator knows.
type gizmo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]string `json:"spec,omitempty"`
}

func (g *gizmo) DeepCopyObject() runtime.Object { return deepCopy(g) }

// gizmoGenerator returns typed objects, and tells their types.
type gizmoGenerator struct{}

func (gizmoGenerator) AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: testGroup.Group, Version: "v1", Kind: "AncientWidget"}, &gizmo{})
	return nil
}

func (gizmoGenerator) Generate(ctx context.Context, namespace, name string, _ types.Unstructurable) ([]client.Object, error) {
	revision, err := ComponentRevisionFromContext(ctx)
	digest, digestErr := ComponentDigestFromContext(ctx)
	own, ownErr := ComponentNameFromContext(ctx)
	ownNamespace, namespaceErr := ComponentNamespaceFromContext(ctx)
	if err := errors.Join(err, digestErr, ownErr, namespaceErr); err != nil {
		return nil, err
	}
	return []client.Object{
		&gizmo{ObjectMeta: metav1.ObjectMeta{Name: name + "-gizmo"}, Spec: map[string]string{"namespace": "x"}},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "facts"},
			Data:       map[string]string{"own": own, "ownNamespace": ownNamespace, "revision": string(rune('0' + revision)), "digest": digest[:0]},
		},
	}, nil
}

func TestTypedGenerator(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reconciler := NewReconciler[*OldWidget](r.name, gizmoGenerator{}, ReconcilerOptions{})
	mgr := r.manager(nil)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	r.run(mgr)
	widget := (*OldWidget)(r.widget(""))
	widget.Spec.Name = "placed"
	r.create(widget)
	awaitReady(r, widget)
	diff(t, "facts", map[string]string{"own": "demo", "ownNamespace": r.namespace, "revision": "1", "digest": ""}, r.configMap("facts"))
	made := &AncientWidget{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "placed-gizmo"}, made); err != nil {
		t.Fatal(err)
	}
	diff(t, "spec of the typed object", "x", made.Spec.Namespace)
}
