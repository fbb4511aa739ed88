// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
)

const (
	presentA = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: one}\n---\n"
	presentB = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\n"
	presentC = "apiVersion: v1\nkind: Service\nmetadata: {name: c}\nspec: {type: ExternalName, externalName: c.example.io}\n---\n"
)

// present sets the presence of a widget, and its objects.
func (r *rig) present(widget *Widget, presence Presence, objects string) {
	r.tb.Helper()
	change(r, widget, func(w *Widget) { w.Spec.Presence, w.Spec.Objects = presence, r.objects(objects) })
}

func (r *rig) awaitMessage(widget *Widget, reason string, parts ...string) {
	r.tb.Helper()
	await(r, widget, reason+": "+strings.Join(parts, " … "), func() bool {
		state, gotReason, message := widget.Status.GetState()
		ok := state == StatePending && gotReason == reason && widget.Status.ObservedGeneration == widget.Generation
		for _, part := range parts {
			ok = ok && strings.Contains(message, part)
		}
		return ok
	})
}

// dependentWrites counts requests that write dependents of the tests of this file.
func (r *rig) dependentWrites() int {
	return r.requests.Count(func(request testenv.Request) bool {
		return request.IsWrite() && (strings.Contains(request.Path, "/configmaps") || strings.Contains(request.Path, "/services"))
	})
}

// TestPaused pauses a component, changes everything about it, restarts the operator, and continues: what was announced
// is done.
func TestPaused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(presentA + presentB)
	r.create(widget)
	awaitReady(r, widget)
	r.present(widget, PresencePaused, presentA+presentB)
	r.awaitMessage(widget, ReadyConditionReasonPaused, "Paused: nothing is held back")
	r.settleCounting()
	r.requests.Reset()

	r.present(widget, PresencePaused, strings.ReplaceAll(presentA, "one", "two")+presentC)
	held := []string{"Paused: 3 held back: ", "/a: would be updated", "/c: would be created", "/b: would be deleted"}
	r.awaitMessage(widget, ReadyConditionReasonPaused, held...)
	stop()
	stop = r.start(r.reconciler(ReconcilerOptions{}))
	r.awaitMessage(widget, ReadyConditionReasonPaused, held...)
	r.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "a"}})
	r.awaitMessage(widget, ReadyConditionReasonPaused, "Paused: 3 held back: ", "/a: would be")
	r.settleCounting()
	if writes := r.dependentWrites(); writes > 1 { // the deletion above
		t.Errorf("expected that nothing is written, got:\n%s", r.requests)
	}
	r.requests.Reset()
	r.settleCounting()
	if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("expected rest, got:\n%s", r.requests)
	}

	r.present(widget, PresenceActive, strings.ReplaceAll(presentA, "one", "two")+presentC)
	awaitReady(r, widget)
	if a, b := r.configMap("a"), r.configMap("b"); a["value"] != "two" || b != nil {
		t.Errorf("expected what was announced, got a: %v, b: %v", a, b)
	}
	r.present(widget, PresencePaused, presentA)
	r.awaitMessage(widget, ReadyConditionReasonPaused, "held back")
	r.delete(widget)
	r.awaitGone(widget)
	stop()
	if r.configMap("a") != nil {
		t.Error("a component that is paused and deleted leaves its dependents behind")
	}
}

// TestPausedFromTheBeginning creates a component that is paused: it writes nothing but the status, not even a
// finalizer.
func TestPausedFromTheBeginning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(presentA)
	widget.Spec.Presence = PresencePaused
	r.create(widget)
	r.awaitMessage(widget, ReadyConditionReasonPaused, "Paused: 1 held back: ConfigMap ", "/a: would be created")
	if len(widget.Finalizers) > 0 || len(widget.Status.Inventory) > 0 || r.configMap("a") != nil {
		t.Errorf("something was written: %v, %v", widget.Finalizers, widget.Status.Inventory)
	}
	r.delete(widget)
	r.awaitGone(widget)
}

// TestArchived archives a component, restarts the operator, and activates the component again.
func TestArchived(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(presentA + presentC)
	r.create(widget)
	awaitReady(r, widget)
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "a"}}
	change(r, held, func(c *corev1.ConfigMap) { c.Finalizers = []string{"example.io/hold"} })
	r.present(widget, PresenceArchived, presentA+presentC)
	await(r, widget, "a wait for the deletion", func() bool {
		state, reason, message := widget.Status.GetState()
		return state == StateProcessing && reason == ReadyConditionReasonProcessing && strings.Contains(message, "Archiving: 1 of ") && strings.Contains(message, "/a: being deleted")
	})
	stop()
	stop = r.start(r.reconciler(ReconcilerOptions{}))
	change(r, held, func(c *corev1.ConfigMap) { c.Finalizers = nil })
	r.awaitMessage(widget, ReadyConditionReasonArchived, "Archived: there are no dependents")
	if r.configMap("a") != nil || len(widget.Status.Inventory) > 0 {
		t.Errorf("dependents are left: %v", widget.Status.Inventory)
	}
	r.settleCounting()
	r.requests.Reset()
	r.settleCounting()
	if count := r.requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("expected rest, got:\n%s", r.requests)
	}
	r.present(widget, PresenceActive, presentA+presentC)
	awaitReady(r, widget)
	if r.configMap("a") == nil {
		t.Error("expected the dependents to be back")
	}
	r.present(widget, PresenceArchived, presentA+presentC)
	r.awaitMessage(widget, ReadyConditionReasonArchived)
	r.delete(widget)
	r.awaitGone(widget)
	stop()
}

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
	generator := manifests.NewGenerator(manifests.GeneratorFunc(specObjects)).WithObjectTransformer(manifests.NewSuspensionObjectTransformer())
	start := func() (stop func()) { return r.start(NewReconciler[*Widget](r.name, generator, ReconcilerOptions{})) }
	stop := start()
	widget := r.widget(sleeper + "---\n" + presentA)
	r.create(widget)
	awaitReady(r, widget)
	r.present(widget, PresenceSuspended, sleeper+"---\n"+presentA+"---\n"+presentC)
	r.awaitMessage(widget, ReadyConditionReasonSuspended, "Suspended: all dependents that can be suspended are suspended")
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
	r.awaitMessage(widget, ReadyConditionReasonSuspended, "Suspended: all dependents that can be suspended are suspended")
	if replicas := r.replicas("sleeper"); replicas != 0 {
		t.Errorf("spec.suspend has left %d replicas", replicas)
	}
	// Another presence counts more than the deprecated field.
	r.present(widget, PresencePaused, sleeper+"---\n"+presentA)
	r.awaitMessage(widget, ReadyConditionReasonPaused, "sleeper: would be updated")
	r.delete(widget)
	r.awaitGone(widget)
	stop()
}
