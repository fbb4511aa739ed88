// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package replicaset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/replicas"
)

// workload returns the numbers of a ReplicaSet. It has no rollouts: pods that exist are not replaced when their template changes.
func workload(replicaset *appsv1.ReplicaSet) replicas.Workload {
	w := replicas.Workload{
		Kind: "ReplicaSet", Generation: replicaset.Generation, Observed: replicaset.Status.ObservedGeneration,
		Desired: replicas.OrOne(replicaset.Spec.Replicas), Ready: replicaset.Status.ReadyReplicas, Current: replicaset.Status.Replicas,
	}
	if w.Current > w.Desired {
		w.Rollout = fmt.Sprintf("%d replicas too many", w.Current-w.Desired)
	}
	for _, condition := range replicaset.Status.Conditions {
		if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue {
			w.Failure = replicas.Failure(condition.Reason, condition.Message)
		}
	}
	return w
}
