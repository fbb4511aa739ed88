// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package daemonset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// workload returns the numbers of a DaemonSet, which has a pod on each selected node. With the strategy OnDelete, its
// rollout does not count, because it continues only when pods are deleted.
func workload(daemonset *appsv1.DaemonSet) handlers.Workload {
	status := &daemonset.Status
	w := handlers.Workload{
		Kind: "DaemonSet", Generation: daemonset.Generation, Observed: status.ObservedGeneration,
		Desired: status.DesiredNumberScheduled, Ready: status.NumberReady, Current: status.CurrentNumberScheduled,
	}
	if updated := status.UpdatedNumberScheduled; updated < w.Desired && daemonset.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
		w.Rollout = fmt.Sprintf("%d/%d pods updated", updated, w.Desired)
	}
	return w
}
