// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/ellipsis"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// report writes the status, if it has changed. It compares with the cache after it has said what is wanted: a state that the cache does not have yet will wake the deployment.
func (d deployments) report(ctx context.Context, deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) error {
	for i := range status.Conditions {
		// What is stored has no fractions of seconds.
		status.Conditions[i].LastTransitionTime = status.Conditions[i].LastTransitionTime.Rfc3339Copy()
	}
	before := d.reports.want(deployment, status)
	cached := d.kind.newDeployment()
	if err := d.client.Get(ctx, client.ObjectKeyFromObject(deployment), cached); err != nil {
		return client.IgnoreNotFound(err)
	}
	if before == nil {
		before = cached.GetDeploymentStatus().DeepCopy()
	}
	if !equality.Semantic.DeepEqual(cached.GetDeploymentStatus(), &status) {
		changed, err := changedCopy(cached, func(changed v1alpha1.Deployment) { *changed.GetDeploymentStatus() = *status.DeepCopy() })
		if err != nil {
			return err
		}
		if err := d.client.Status().Patch(ctx, changed, client.MergeFrom(cached)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	d.reports.written(deployment, status)
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

// reports are the last statuses of deployments. An update that brings nothing but the status that is wanted wakes nobody, and nothing is announced twice while the cache is older.
type reports struct {
	mu    sync.Mutex
	known map[apitypes.NamespacedName]lastReport
}

// lastReport is what is known about the status of one deployment.
type lastReport struct {
	uid apitypes.UID
	// wanted is what was or is being written, written the last one that was written or found; nil if none was.
	wanted, written *v1alpha1.DeploymentStatus
}

// want says which status a deployment is to have, and returns the last one that it had; nil if that is not known.
func (r *reports) want(deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) *v1alpha1.DeploymentStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of(deployment)
	last.wanted = &status
	r.known[client.ObjectKeyFromObject(deployment)] = last
	return last.written
}

// written says that a deployment has a status.
func (r *reports) written(deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of(deployment)
	last.written = &status
	r.known[client.ObjectKeyFromObject(deployment)] = last
}

// isWanted reports whether a deployment has the status that it is to have.
func (r *reports) isWanted(deployment v1alpha1.Deployment) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted := r.of(deployment).wanted
	return wanted != nil && equality.Semantic.DeepEqual(deployment.GetDeploymentStatus(), wanted)
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
