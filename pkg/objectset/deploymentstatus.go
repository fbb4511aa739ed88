// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// messageLimit is the longest message of a condition that the definition allows, in bytes.
const messageLimit = 32768

// report writes the status, if it has changed. It replaces the whole status, whatever the server has by then.
func (d deployments) report(ctx context.Context, deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) error {
	for i := range status.Conditions {
		condition := &status.Conditions[i]
		condition.Message = texts.Truncate(condition.Message, messageLimit)
		// What is stored has no fractions of seconds.
		condition.LastTransitionTime = condition.LastTransitionTime.Rfc3339Copy()
	}
	d.reports.want(deployment, status)
	if !equality.Semantic.DeepEqual(deployment.GetDeploymentStatus(), &status) {
		written, err := d.writeStatus(ctx, deployment, status)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		d.reports.written(written)
	}
	d.announce(deployment, d.reports.announce(deployment, status.Conditions), status.Conditions)
	return nil
}

// writeStatus replaces the status of a deployment, unless there is another one of the same name by now, and returns the answer.
func (d deployments) writeStatus(ctx context.Context, deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) (v1alpha1.Deployment, error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": deployment.GetUID()},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	written := d.kind.newDeployment()
	written.SetNamespace(deployment.GetNamespace())
	written.SetName(deployment.GetName())
	return written, d.client.Status().Patch(ctx, written, client.RawPatch(apitypes.JSONPatchType, patch))
}

// inRollout are the reasons of Progressing while a rollout goes on.
var inRollout = []string{v1alpha1.ReasonRollingOut, v1alpha1.ReasonPendingSuccess, v1alpha1.ReasonArchiving}

// announce emits an event when a rollout stalls, for another reason than before, and when one is complete.
func (d deployments) announce(deployment v1alpha1.Deployment, before, now []metav1.Condition) {
	const eventLimit = 1024 // of the API server
	emit := func(eventType string, condition *metav1.Condition) {
		d.events.Eventf(deployment, nil, eventType, condition.Reason, "RollOut", "%s", texts.Truncate(condition.Message, eventLimit))
	}
	if stalled := meta.FindStatusCondition(now, v1alpha1.DeploymentStalled); stalled.Status == metav1.ConditionTrue {
		old := meta.FindStatusCondition(before, v1alpha1.DeploymentStalled)
		if old == nil || old.Status != stalled.Status || old.Reason != stalled.Reason || old.Message != stalled.Message {
			emit(corev1.EventTypeWarning, stalled)
		}
	}
	progressed := meta.FindStatusCondition(before, v1alpha1.DeploymentProgressing)
	if ready := meta.FindStatusCondition(now, v1alpha1.DeploymentReady); ready.Status == metav1.ConditionTrue && progressed != nil && slices.Contains(inRollout, progressed.Reason) {
		emit(corev1.EventTypeNormal, ready)
	}
}

// reports has the last statuses of deployments. With them, none of our own writes wakes a deployment, however late its event comes, and a step that runs
// before the cache has caught up begins with the status last written.
type reports struct {
	mu    sync.Mutex
	known map[apitypes.NamespacedName]lastReport
}

// lastReport is what is known about the status of one deployment.
type lastReport struct {
	uid apitypes.UID
	// wanted is the status that the deployment is to have; nil until a step has computed it.
	wanted *v1alpha1.DeploymentStatus
	// written is the status that the server had after our last write of it; nil before the first one. The version is that of the answer.
	written *v1alpha1.DeploymentStatus
	version string
	// announced are the conditions that events were emitted about; at first, those before the first report. It is nil before that.
	announced []metav1.Condition
}

// begin says that a step begins, which decides anew which status a deployment is to have. It comes before the step reads the deployment: an event that the
// step does not see then wakes the deployment again.
func (r *reports) begin(key apitypes.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.known[key]; ok {
		last.wanted = nil
		r.known[key] = last
	}
}

// complete replaces the status of a deployment by the one last written if the deployment was read from a cache older than that write.
func (r *reports) complete(deployment v1alpha1.Deployment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.of(deployment); apiserver.Older(deployment.GetResourceVersion(), last.version) {
		*deployment.GetDeploymentStatus() = *last.written.DeepCopy()
	}
}

// want says which status a deployment is to have.
func (r *reports) want(deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) {
	r.change(deployment, func(last *lastReport) {
		last.wanted = &status
		if last.announced == nil {
			last.announced = append([]metav1.Condition{}, deployment.GetDeploymentStatus().Conditions...)
		}
	})
}

// written records the answer of the server to a status write.
func (r *reports) written(deployment v1alpha1.Deployment) {
	r.change(deployment, func(last *lastReport) {
		last.written, last.version = deployment.GetDeploymentStatus().DeepCopy(), deployment.GetResourceVersion()
	})
}

// announce records that the conditions of a deployment are announced, and returns those that were announced before.
func (r *reports) announce(deployment v1alpha1.Deployment, conditions []metav1.Condition) (before []metav1.Condition) {
	r.change(deployment, func(last *lastReport) {
		before, last.announced = last.announced, conditions
	})
	return before
}

// isKnown reports whether the status of a deployment is no news: it is the one that the deployment is to have, or not newer than our last write.
func (r *reports) isKnown(deployment v1alpha1.Deployment) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of(deployment)
	if version := deployment.GetResourceVersion(); last.version != "" && (version == last.version || apiserver.Older(version, last.version)) {
		return true
	}
	return last.wanted != nil && equality.Semantic.DeepEqual(deployment.GetDeploymentStatus(), last.wanted)
}

// change changes what is known about a deployment.
func (r *reports) change(deployment v1alpha1.Deployment, change func(*lastReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of(deployment)
	change(&last)
	r.known[client.ObjectKeyFromObject(deployment)] = last
}

// of returns what is known about a deployment. What was known about an earlier one of that name does not count. The caller has locked the reports.
func (r *reports) of(deployment v1alpha1.Deployment) lastReport {
	last := r.known[client.ObjectKeyFromObject(deployment)]
	if last.uid != deployment.GetUID() {
		return lastReport{uid: deployment.GetUID()}
	}
	return last
}

func (r *reports) forget(key apitypes.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}
