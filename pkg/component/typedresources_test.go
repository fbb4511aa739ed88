// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/probes"
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
		"Stalled":    `condition "Stalled", which the reconciler already has; must be a name other than Ready, Reconciling, Stalled and RolledOut`,
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

// demands returns probes that demand a value of a field of all ConfigMaps.
func demands(value string) []probes.Probe {
	return []probes.Probe{{
		Selector: probes.Selector{Kind: &probes.Kind{Kind: "ConfigMap"}},
		Checks:   []probes.Check{{FieldValue: &probes.FieldValue{Field: ".data.state", Value: apiextensionsv1.JSON{Raw: []byte(`"` + value + `"`)}}}},
	}}
}

// TestJudgesOfComponents has a component whose spec has probes: they decide about its readiness, also after they have
// changed, and after a restart.
func TestJudgesOfComponents(t *testing.T) {
	t.Parallel()
	const count = 20
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	var objects strings.Builder
	for i := range count {
		fmt.Fprintf(&objects, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {state: one}\n", i)
	}
	widget := r.widget(objects.String())
	widget.Spec.Probes = demands("one")
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)

	r.requests.Reset()
	change(r, widget, func(w *Widget) { w.Spec.Probes = demands("two") })
	await(r, widget, "a wait for the probes", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, `.data.state is "one", not "two"`)
	})
	r.settleCounting()
	reads := func(request testenv.Request) bool {
		return request.Method == http.MethodGet && !request.IsWatch() && strings.Contains(request.Path, "/configmaps/c")
	}
	if got := r.requests.Count(reads); got != count {
		t.Errorf("expected one read for each dependent, got %d:\n%s", got, r.requests)
	}
	stop()

	r.requests.Reset()
	r.start(r.reconciler(ReconcilerOptions{}))
	change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(strings.ReplaceAll(objects.String(), "one", "two")) })
	awaitReady(r, widget)
	r.settleCounting()
	if got := r.requests.Count(reads); got != 0 {
		t.Errorf("expected no reads after a restart, got %d:\n%s", got, r.requests)
	}

	change(r, widget, func(w *Widget) {
		w.Spec.Probes = []probes.Probe{{Checks: []probes.Check{{CEL: &probes.CEL{Rule: "slef"}}}}}
	})
	await(r, widget, "an error", func() bool {
		state, _, message := widget.Status.GetState()
		return state == StateError && strings.Contains(message, `Cannot judge dependents: probes[0].probes[0].cel.rule: invalid value "slef"`)
	})
	found := &corev1.ConfigMap{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "c0"}, found); err != nil || found.Data["state"] != "two" {
		t.Errorf("the dependents have changed: %v, %v", found.Data, err)
	}
}

// TestPodsExplainWorkloads has a Deployment wait for a Pod whose image cannot be pulled. Its Pods are read until they
// give a reason, and not again in the same state.
func TestPodsExplainWorkloads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-1", Labels: map[string]string{"app": "web"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "demo:1"}}
	pod.Spec.NodeName = "none"
	r.create(pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Image: "demo:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "demo:1: not found"}},
	}}
	if err := r.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	r.start(r.reconciler(ReconcilerOptions{ExplainPods: true}))
	// No controller makes Pods for a Deployment that is paused.
	widget := r.widget(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {paused: true, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "demo:1"}]}}}
`)
	r.create(widget)
	r.awaitText(widget, StateProcessing, "; Pod web-1: container main: ErrImagePull: demo:1: not found")
	asked := func() int {
		return r.requests.Count(func(request testenv.Request) bool {
			return request.Method == http.MethodGet && strings.HasSuffix(request.Path, "/pods") || strings.HasSuffix(request.Path, "/deployments/web") && request.Method == http.MethodGet
		})
	}
	before := asked()
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{"note": "again"} })
	change(r, widget, func(w *Widget) {
		w.Spec.Objects = append(w.Spec.Objects, r.objects("{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}")...)
	})
	await(r, widget, "the second dependent", func() bool { return len(widget.Status.Inventory) == 2 })
	r.awaitText(widget, StateProcessing, "ErrImagePull")
	if after := asked(); after != before {
		t.Errorf("the pods of the same state were read %d times more", after-before)
	}
	r.delete(widget)
	r.awaitGone(widget)
}
