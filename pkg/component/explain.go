// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// maxExplained is the number of workloads that are explained: they mostly wait for the same reason. So do their
	// Pods, of which maxPods are read.
	maxExplained, maxPods = 5, 50
	// explainAfter is how long a state must last before the Pods are read. As long as they give no reason, they are
	// read again after twice the time, at most after explainPause.
	explainAfter, explainPause = 2 * time.Second, time.Minute
)

// explanation is what is known about a workload that is not ready.
type explanation struct {
	// state is what the engine says about it.
	state string
	// due is when its Pods are read; pause is the time until then.
	due   time.Time
	pause time.Duration
	// text is the reason; empty if there is none yet.
	text string
}

// explain completes what the engine says about workloads by what their Pods say, and has the next pass come when Pods
// are to be read.
func (p *pass) explain(ctx context.Context, result *reconciler.Result) {
	if !p.worker.options.ExplainPods {
		return
	}
	before, now, left := p.memory.explained, p.worker.options.Clock.Now(), maxExplained
	explained := map[types.ObjectID]explanation{}
	explainAll := func(notices []reconciler.Notice, after time.Duration) {
		for i := range notices {
			notice := &notices[i]
			if left == 0 || !hasPods(notice.Object) {
				continue
			}
			left--
			id := types.IDOf(notice.Object)
			e := before[id]
			if e.state != notice.Message {
				e = explanation{state: notice.Message, due: now.Add(after), pause: explainAfter}
			}
			if e.text == "" && !now.Before(e.due) {
				e.text = p.reasonOf(ctx, notice.Object)
				e.pause = min(2*e.pause, explainPause)
				e.due = now.Add(e.pause)
			}
			if e.text == "" {
				result.RequeueAfter = min(cmp.Or(result.RequeueAfter, explainPause), e.due.Sub(now))
			} else {
				notice.Message += "; " + e.text
			}
			explained[id] = e
		}
	}
	explainAll(result.Failures, 0)
	explainAll(result.Waits, explainAfter)
	p.memory.explained = explained
}

// hasPods reports whether an object is a workload of Kubernetes, or a Pod.
func hasPods(object types.ObjectKey) bool {
	kind := object.GetObjectKind().GroupVersionKind()
	switch kind.Group {
	case "":
		return kind.Kind == "Pod" || kind.Kind == "ReplicationController"
	case "apps":
		return slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}, kind.Kind)
	case "batch":
		return kind.Kind == "Job"
	}
	return false
}

// reasonOf returns why a workload is not ready, according to the newest of its Pods that gives a reason; empty if none
// does.
func (p *pass) reasonOf(ctx context.Context, workload types.ObjectKey) string {
	pods, err := p.podsOf(ctx, workload)
	if apierrors.IsForbidden(err) {
		return fmt.Sprintf("the reason is unknown, because Pods in namespace %s may not be listed", workload.GetNamespace())
	}
	if err != nil {
		p.log.V(1).Info("the pods of a workload cannot be read", "object", types.IDOf(workload).String(), "reason", err.Error())
		return ""
	}
	slices.SortFunc(pods, func(p, b corev1.Pod) int { return b.CreationTimestamp.Compare(p.CreationTimestamp.Time) })
	for i := range pods {
		for _, finding := range status.PodFindings(&pods[i]) {
			if !finding.Vague {
				return fmt.Sprintf("Pod %s: %s", pods[i].Name, finding.Text)
			}
		}
	}
	return ""
}

// podsOf reads the Pods that a workload selects.
func (p *pass) podsOf(ctx context.Context, workload types.ObjectKey) ([]corev1.Pod, error) {
	clnt := p.destination.Target().Client
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(workload.GetObjectKind().GroupVersionKind())
	if err := clnt.Get(ctx, client.ObjectKey{Namespace: workload.GetNamespace(), Name: workload.GetName()}, live); err != nil {
		return nil, err
	}
	found := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*live}}
	if live.GetKind() != "Pod" {
		selector, err := selectorOf(live)
		if err != nil {
			return nil, err
		}
		found = &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		if err := clnt.List(ctx, found, client.InNamespace(live.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}, client.Limit(maxPods)); err != nil {
			return nil, err
		}
	}
	pods := make([]corev1.Pod, len(found.Items))
	for i := range found.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Items[i].Object, &pods[i]); err != nil {
			return nil, err
		}
	}
	return pods, nil
}

// selectorOf returns the selector of a workload. That of a ReplicationController has labels only.
func selectorOf(live *unstructured.Unstructured) (labels.Selector, error) {
	declared, _, err := unstructured.NestedMap(live.Object, "spec", "selector")
	if err != nil {
		return nil, err
	}
	if len(declared) == 0 {
		return labels.Nothing(), nil
	}
	if live.GetKind() == "ReplicationController" {
		declared = map[string]any{"matchLabels": declared}
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(declared, selector); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(selector)
}
