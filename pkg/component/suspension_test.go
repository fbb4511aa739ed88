// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

const sleeper = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: sleeper}
spec:
  replicas: 1
  selector: {matchLabels: {app: sleeper}}
  template:
    metadata: {labels: {app: sleeper}}
    spec: {containers: [{name: main, image: example.com/none}]}
`

// sleepers is a generator of the objects of the spec whose Deployments have suspended forms.
type sleepers struct{}

func (sleepers) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	objects, err := specObjects(ctx, namespace, name, parameters)
	for i, object := range objects {
		if object.GetObjectKind().GroupVersionKind().Kind == "Deployment" {
			objects[i] = behaviors.Attach(object, behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
				return unstructured.SetNestedField(manifest.Object, int64(0), "spec", "replicas")
			}))
		}
	}
	return objects, err
}

func (sleepers) SuspendsDependents() bool { return true }

// replicas returns what a Deployment is scaled to.
func (r *rig) replicas(name string) int32 {
	r.tb.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
	if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
		r.tb.Fatal(err)
	}
	return *deployment.Spec.Replicas
}

// TestSuspendedDependents suspends a component by its presence, restarts the operator, resumes it, and suspends it by
// spec.suspend.
func TestSuspendedDependents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// A pipeline suspends because the generator that it wraps does.
	generator := manifests.NewGenerator(sleepers{})
	start := func() (stop func()) { return r.start(NewReconciler[*Widget](r.name, generator, ReconcilerOptions{})) }
	stop := start()
	widget := r.widget(sleeper + "---\n" + presentA)
	r.create(widget)
	awaitReady(r, widget)
	r.present(widget, PresenceSuspended, sleeper+"---\n"+presentA+"---\n"+presentC)
	r.awaitMessage(widget, ReadyConditionReasonSuspended, "Suspended: all dependents that have a suspended form are suspended")
	if replicas := r.replicas("sleeper"); replicas != 0 {
		t.Errorf("the Deployment has %d replicas", replicas)
	}
	if r.configMap("a") == nil || r.configMap("c") != nil {
		t.Error("what has no suspended form is not left alone")
	}
	stop()
	stop = start()
	change(r, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "sleeper"}}, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
	testenv.Eventually(t, func() (bool, string) { return r.replicas("sleeper") == 0, "it was not suspended again" })
	r.settleCounting()
	r.requests.Reset()
	r.settleCounting()
	if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("expected rest, got:\n%s", r.requests)
	}
	r.present(widget, PresenceActive, sleeper+"---\n"+presentA)
	awaitReady(r, widget)
	if replicas := r.replicas("sleeper"); replicas != 1 {
		t.Errorf("the Deployment was resumed with %d replicas", replicas)
	}
	change(r, widget, func(w *Widget) { w.Spec.Suspend = true })
	r.awaitMessage(widget, ReadyConditionReasonSuspended, "Suspended: all dependents that have a suspended form are suspended")
	if replicas := r.replicas("sleeper"); replicas != 0 {
		t.Errorf("spec.suspend has left %d replicas", replicas)
	}
	r.delete(widget)
	r.awaitGone(widget)
	stop()
}
