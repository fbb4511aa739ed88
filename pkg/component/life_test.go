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
	"github.com/component-operator/runtime/pkg/reconciler"
)

const webDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: red}
`

func TestLifeOfAComponent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(webDeployment)
	r.create(widget)
	awaitReady(r, widget)

	diff(t, "finalizers", []string{r.name}, widget.Finalizers)
	diff(t, "revision", int64(1), widget.Status.Revision)
	diff(t, "applied generation", widget.Generation, widget.Status.AppliedGeneration)
	_, _, message := widget.Status.GetState()
	diff(t, "message", "2 dependents are ready", message)
	for name, want := range map[ConditionType]ConditionStatus{ConditionTypeReady: ConditionTrue, ConditionTypeReconciling: ConditionFalse, ConditionTypeStalled: ConditionFalse} {
		condition := widget.Status.condition(name)
		if condition == nil || condition.Status != want || condition.ObservedGeneration != widget.Generation {
			t.Errorf("condition %s: want %s for generation %d, got %+v", name, want, widget.Generation, condition)
		}
	}

	change(r, widget, func(w *Widget) {
		w.Spec.Objects = r.objects(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: green}}`)
	})
	awaitReady(r, widget)
	diff(t, "changed ConfigMap", map[string]string{"color": "green"}, r.configMap("settings"))
	diff(t, "revision", int64(2), widget.Status.Revision)
	r.awaitGone(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web"}})

	change(r, widget, func(w *Widget) { w.Spec.Suspend = true })
	awaitState(r, widget, StatePending, ReadyConditionReasonSuspended)
	change(r, widget, func(w *Widget) {
		w.Spec.Objects = r.objects(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}`)
	})
	await(r, widget, "the new generation to be observed", func() bool { return widget.Status.ObservedGeneration == widget.Generation })
	diff(t, "ConfigMap while suspended", map[string]string{"color": "green"}, r.configMap("settings"))

	if err := r.client.Delete(t.Context(), widget, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	r.awaitGone(widget)
	if r.configMap("settings") != nil {
		t.Error("a dependent is left behind")
	}
}

// TestDrift sees a foreign change corrected, and another one reported, as the component wants it.
func TestDrift(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "settings"}}
	change(r, settings, func(c *corev1.ConfigMap) { c.Data["color"] = "purple" })
	testenv.Eventually(t, func() (bool, string) {
		return r.configMap("settings")["color"] == "red", "the change was not corrected"
	})
	r.awaitEvent("Corrected", "Corrected 1 dependent of wave 0: ConfigMap "+r.namespace+"/settings")

	change(r, widget, func(w *Widget) { w.Spec.DriftPolicy = reconciler.DriftPolicyReport })
	awaitReady(r, widget)
	change(r, settings, func(c *corev1.ConfigMap) { c.Data["color"] = "purple" })
	await(r, widget, "the drift to be reported", func() bool {
		_, _, message := widget.Status.GetState()
		return widget.Status.IsReady() && strings.Contains(message, "1 changed by other clients, and not corrected: ConfigMap "+r.namespace+"/settings")
	})
	r.settle(widget)
	diff(t, "reported drift", map[string]string{"color": "purple"}, r.configMap("settings"))
}
