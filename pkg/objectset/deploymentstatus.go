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

	"github.com/component-operator/runtime/internal/ellipsis"
	"github.com/component-operator/runtime/internal/resourceversions"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// report writes the status, if it has changed. It replaces the whole status, whatever the server has by then.
func (d deployments) report(ctx context.Context, deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) error {
	for i := range status.Conditions {
		// What is stored has no fractions of seconds.
		status.Conditions[i].LastTransitionTime = status.Conditions[i].LastTransitionTime.Rfc3339Copy()
	}
	before := deployment.GetDeploymentStatus()
	d.reports.want(deployment, status)
	if equality.Semantic.DeepEqual(before, &status) {
		return nil
	}
	replacement, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": status}})
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	written := d.kind.newDeployment()
	written.SetNamespace(deployment.GetNamespace())
	written.SetName(deployment.GetName())
	if err := d.client.Status().Patch(ctx, written, client.RawPatch(apitypes.JSONPatchType, replacement)); err != nil {
		return client.IgnoreNotFound(err)
	}
	d.reports.written(written)
	d.announce(deployment, before.Conditions, status.Conditions)
	return nil
}

// inRollout are the reasons of Progressing while a rollout goes on.
var inRollout = []string{v1alpha1.ReasonRollingOut, v1alpha1.ReasonPendingSuccess, v1alpha1.ReasonArchiving}

// announce emits an event when a rollout stalls, for another reason than before, and when one is complete.
func (d deployments) announce(deployment v1alpha1.Deployment, before, now []metav1.Condition) {
	const eventLimit = 1024 // of the API server
	emit := func(eventType string, condition *metav1.Condition) {
		d.events.Eventf(deployment, nil, eventType, condition.Reason, "RollOut", "%s", ellipsis.Truncate(condition.Message, eventLimit))
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

// reports are the last statuses of deployments. With them, an own write wakes nobody, however late its event comes, and a step that the cache is too old for
// has the status that the step before has written.
type reports struct {
	mu    sync.Mutex
	known map[apitypes.NamespacedName]lastReport
}

// lastReport is what is known about the status of one deployment.
type lastReport struct {
	uid apitypes.UID
	// wanted is the status that the deployment is to have; nil if that was not said yet.
	wanted *v1alpha1.DeploymentStatus
	// written is the status that the server had after our last write of it, version the resource version; nil and "" before the first one.
	written *v1alpha1.DeploymentStatus
	version string
}

// want says which status a deployment is to have.
func (r *reports) want(deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of(deployment)
	last.wanted = &status
	r.known[client.ObjectKeyFromObject(deployment)] = last
}

// written takes what the server has answered when a status was written.
func (r *reports) written(deployment v1alpha1.Deployment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of(deployment)
	last.written, last.version = deployment.GetDeploymentStatus(), deployment.GetResourceVersion()
	r.known[client.ObjectKeyFromObject(deployment)] = last
}

// complete gives a deployment the last written status if it comes from a cache that is older.
func (r *reports) complete(deployment v1alpha1.Deployment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.of(deployment); resourceversions.Older(deployment.GetResourceVersion(), last.version) {
		*deployment.GetDeploymentStatus() = *last.written.DeepCopy()
	}
}

// isKnown reports whether the status of a deployment is no news: it is the one that the deployment is to have, or not newer than our last write.
func (r *reports) isKnown(deployment v1alpha1.Deployment) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of(deployment)
	if version := deployment.GetResourceVersion(); last.version != "" && (version == last.version || resourceversions.Older(version, last.version)) {
		return true
	}
	return last.wanted != nil && equality.Semantic.DeepEqual(deployment.GetDeploymentStatus(), last.wanted)
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
