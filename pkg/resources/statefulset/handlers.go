// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// workload returns the numbers of a StatefulSet. With the strategy OnDelete, its rollout does not count, because it
// continues only when pods are deleted. With a partition, only the pods above it must be updated, and the new revision
// does not become the current one.
func workload(statefulset *appsv1.StatefulSet) handlers.Workload {
	spec, status := &statefulset.Spec, &statefulset.Status
	w := handlers.Workload{
		Kind: "StatefulSet", Generation: statefulset.Generation, Observed: status.ObservedGeneration,
		Desired: ptr.Deref(spec.Replicas, 1), Ready: status.ReadyReplicas, Current: status.Replicas,
	}
	var partition int32 // the ordinal of the first pod that a rollout replaces
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
		partition = ptr.Deref(rolling.Partition, 0)
	}
	required, updated := w.Desired-partition, status.UpdatedReplicas
	switch {
	case w.Current > w.Desired:
		w.Rollout = fmt.Sprintf("%d replicas too many", w.Current-w.Desired)
	case spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
	case updated < required || partition == 0 && updated > required:
		w.Rollout = fmt.Sprintf("%d/%d replicas updated", updated, required)
	case partition == 0 && status.CurrentRevision != status.UpdateRevision:
		w.Rollout = "the new revision is not the current one yet"
	}
	return w
}
