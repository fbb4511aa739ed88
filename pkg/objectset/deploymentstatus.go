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
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/ellipsis"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// report writes the status, if it has changed.
func (d deployments) report(ctx context.Context, deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) error {
	if equality.Semantic.DeepEqual(deployment.GetDeploymentStatus(), &status) {
		return nil
	}
	changed, err := changedCopy(deployment, func(changed v1alpha1.Deployment) { *changed.GetDeploymentStatus() = status })
	if err != nil {
		return err
	}
	if err := d.client.Status().Patch(ctx, changed, client.MergeFrom(deployment)); err != nil {
		return client.IgnoreNotFound(err)
	}
	d.status.remember(changed)
	d.announce(deployment, deployment.GetDeploymentStatus().Conditions, status.Conditions)
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

// writtenStatuses has the deployments as they were after the last write of their status. A step takes them while the cache is older: the update that
// brings the cache up to date wakes nobody.
type writtenStatuses struct {
	mu   sync.Mutex
	last map[apitypes.NamespacedName]v1alpha1.Deployment
}

// latest returns the newer one of a cached deployment and the one that was written.
func (w *writtenStatuses) latest(cached v1alpha1.Deployment) v1alpha1.Deployment {
	w.mu.Lock()
	defer w.mu.Unlock()
	written, found := w.last[client.ObjectKeyFromObject(cached)]
	if !found || written.GetUID() != cached.GetUID() {
		return cached
	}
	if result, err := resourceversion.CompareResourceVersion(written.GetResourceVersion(), cached.GetResourceVersion()); err != nil || result <= 0 {
		return cached
	}
	return written
}

func (w *writtenStatuses) remember(written v1alpha1.Deployment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[client.ObjectKeyFromObject(written)] = written
}

func (w *writtenStatuses) forget(key apitypes.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, key)
}
