// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// messageLimit is the longest message of a condition that the definition allows, in bytes.
const messageLimit = 32768

// report writes the status, if it has changed and the deployment is still in the state that was read, and emits events
// about the change.
func (d deployments) report(ctx context.Context, deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) error {
	for i := range status.Conditions {
		condition := &status.Conditions[i]
		condition.Message = texts.Truncate(condition.Message, messageLimit)
		// Stored times have no fractions of seconds.
		condition.LastTransitionTime = condition.LastTransitionTime.Rfc3339Copy()
	}
	if equality.Semantic.DeepEqual(deployment.GetDeploymentStatus(), &status) {
		return nil
	}
	changed, err := changedCopy(deployment, func(changed v1alpha1.Deployment) { *changed.GetDeploymentStatus() = status })
	if err != nil {
		return err
	}
	if err := d.client.Status().Patch(ctx, changed, client.MergeFromWithOptions(deployment, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	d.announce(deployment, deployment.GetDeploymentStatus().Conditions, status.Conditions)
	return nil
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
