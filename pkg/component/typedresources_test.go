// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
)

// conditionOf formats a condition of a component.
func conditionOf(widget *Widget, name ConditionType) string {
	for _, condition := range widget.Status.Conditions {
		if condition.Type == name {
			return fmt.Sprintf("%s %s: %s", condition.Status, condition.Reason, condition.Message)
		}
	}
	return "none"
}

// announcing is a resource that is as well as its annotations say, which somebody else sets.
func announcing(input resources.Input) (resources.Resource, error) {
	return configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: "told"}}).
		WithCustomConvergeStatus(func(_ concepts.ConvergingOperation, c *corev1.ConfigMap) (concepts.OperationalStatusWithReason, error) {
			status := concepts.OperationalStatusPending
			if told := c.Annotations["status"]; told != "" {
				status = concepts.OperationalStatus(told)
			}
			return concepts.OperationalStatusWithReason{Status: status, Reason: "status is " + string(status)}, nil
		}).
		WithCustomGraceStatus(func(c *corev1.ConfigMap) (concepts.GraceStatusWithReason, error) {
			if told := c.Annotations["grade"]; told != "" {
				return concepts.GraceStatusWithReason{Status: concepts.GraceStatus(told)}, nil
			}
			return concepts.GraceStatusWithReason{Status: concepts.GraceStatusDegraded}, nil
		}).Build()
}

// annotate has somebody else set annotations of the ConfigMap.
func (r *rig) annotate(annotations string) {
	r.tb.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "told"}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":`+annotations+`}}`))
	if err := r.client.Patch(r.tb.Context(), object, patch, client.FieldOwner("somebody")); err != nil {
		r.tb.Fatal(err)
	}
}

// TestHealthCondition: the condition that the generator names follows the health of a resource, before and after its
// grace period. The period begins again when the spec changes, and does not when the process does.
func TestHealthCondition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	start := func() func() {
		return r.start(NewReconciler[*Widget](r.name, resources.NewGenerator(func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
			resource, err := announcing(input)
			return []resources.Resource{resource}, err
		}, resources.WithCondition("Available"), resources.WithGracePeriod(8*time.Second)), ReconcilerOptions{}))
	}
	stop := start()
	widget := r.widget("")
	r.create(widget)
	says := func(want string) {
		t.Helper()
		await(r, widget, want, func() bool { return strings.HasPrefix(conditionOf(widget, "Available"), want) })
	}
	text := "ConfigMap " + r.namespace + "/told: status is OperationPending"
	says("False OperationPending: " + text)
	says("False Degraded: Component is degraded: " + text)
	r.annotate(`{"grade":"Down"}`)
	says("False Down: Component is down: " + text)

	stop()
	stop = start()
	change(r, widget, func(w *Widget) { w.Labels = map[string]string{"process": "next"} })
	says("False Down: ")
	r.annotate(`{"grade":"Healthy"}`)
	says("False OperationPending: ")
	r.annotate(`{"grade":"Down"}`)
	says("False Down: ")
	change(r, widget, func(w *Widget) { w.Spec.RequeueInterval = &metav1.Duration{Duration: time.Hour} })
	says("False OperationPending: ")
	says("False Down: ")

	r.annotate(`{"status":"Operational"}`)
	says("True Healthy: 1 dependent is ready")
	awaitReady(r, widget)
	r.annotate(`{"status":"OperationFailing"}`)
	says("False OperationFailing: ConfigMap " + r.namespace + "/told: failed: status is OperationFailing")
	awaitState(r, widget, StateError, "Error")
	change(r, widget, func(w *Widget) { w.Spec.Presence = PresencePaused })
	awaitState(r, widget, StatePending, "Paused")
	if got := conditionOf(widget, "Available"); strings.HasPrefix(got, "True") {
		t.Errorf("a paused component must not say anything new: %s", got)
	}
	change(r, widget, func(w *Widget) { w.Spec.Presence = PresenceArchived })
	says("True Archived: ")
	r.delete(widget)
	r.awaitGone(widget)
	stop()
}

// TestConditionsOfGenerators: a generator cannot name a condition that the reconciler has itself, nor one that cannot
// be.
func TestConditionsOfGenerators(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, want := range map[string]string{
		"Stalled":    `condition "Stalled", which the reconciler already has; must be a name other than Ready, Reconciling and Stalled`,
		"not valid!": `the generator names the condition "not valid!": `,
	} {
		reconciler := NewReconciler[*Widget](r.name, resources.NewGenerator(func(context.Context, resources.Input) ([]resources.Resource, error) {
			return nil, nil
		}, resources.WithCondition(name)), ReconcilerOptions{})
		if err := reconciler.SetupWithManager(r.manager(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// TestMisspeltAnnotationsAreNoticed: a warning names the annotation, and what was probably meant; one of the operator's
// own causes none.
func TestMisspeltAnnotationsAreNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{OwnAnnotations: []string{"hash"}}))
	widget := r.widget("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {" + r.name + "/apply-ordre: \"1\", " + r.name + "/hash: x}}}")
	r.create(widget)
	awaitReady(r, widget)
	r.awaitEvent("Noticed", "ConfigMap "+r.namespace+"/a: annotation "+r.name+"/apply-ordre is not known, and has no effect; did you mean apply-order?")
}
