// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// workload returns the numbers of a Deployment. While it is paused, its rollout does not count, because it is not
// supposed to continue.
func workload(deployment *appsv1.Deployment) handlers.Workload {
	w := handlers.Workload{
		Kind: "Deployment", Generation: deployment.Generation, Observed: deployment.Status.ObservedGeneration,
		Desired: ptr.Deref(deployment.Spec.Replicas, 1), Ready: deployment.Status.ReadyReplicas, Current: deployment.Status.Replicas,
	}
	switch updated := deployment.Status.UpdatedReplicas; {
	case deployment.Spec.Paused && w.Current > w.Desired:
		w.Rollout = fmt.Sprintf("%d replicas too many", w.Current-w.Desired)
	case deployment.Spec.Paused:
	case updated != w.Desired:
		w.Rollout = fmt.Sprintf("%d/%d replicas updated", updated, w.Desired)
	case w.Current > updated:
		w.Rollout = fmt.Sprintf("%d old replicas left", w.Current-updated)
	}
	for _, condition := range deployment.Status.Conditions {
		stuck := condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse && condition.Reason == "ProgressDeadlineExceeded"
		if stuck || condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			w.Failure = handlers.Text(condition.Reason, condition.Message)
		}
	}
	return w
}
