// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package replicaset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// workload returns the numbers of a ReplicaSet. It has no rollouts: a changed template does not replace existing pods.
func workload(replicaset *appsv1.ReplicaSet) handlers.Workload {
	w := handlers.Workload{
		Kind: "ReplicaSet", Generation: replicaset.Generation, Observed: replicaset.Status.ObservedGeneration,
		Desired: ptr.Deref(replicaset.Spec.Replicas, 1), Ready: replicaset.Status.ReadyReplicas, Current: replicaset.Status.Replicas,
	}
	if w.Current > w.Desired {
		w.Rollout = fmt.Sprintf("%d replicas too many", w.Current-w.Desired)
	}
	for _, condition := range replicaset.Status.Conditions {
		if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue {
			w.Failure = handlers.Text(condition.Reason, condition.Message)
		}
	}
	return w
}
