// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
)

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
