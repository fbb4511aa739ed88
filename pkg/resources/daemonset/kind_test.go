// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package daemonset

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/replicas"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// with returns a DaemonSet with some numbers. What is desired is the number of nodes.
func with(n resourcestest.Numbers) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Generation: n.Generation},
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: n.Observed, DesiredNumberScheduled: replicas.OrOne(n.Desired), NumberReady: n.Ready, CurrentNumberScheduled: n.Current, UpdatedNumberScheduled: n.Updated,
		},
	}
}

// onNodes returns a DaemonSet on three nodes, with a strategy.
func onNodes(ready, updated int32, strategy appsv1.DaemonSetUpdateStrategyType) *appsv1.DaemonSet {
	daemonset := with(resourcestest.Numbers{Generation: 2, Observed: 2, Desired: new(int32(3)), Ready: ready, Current: 3, Updated: updated})
	daemonset.Spec.UpdateStrategy.Type = strategy
	return daemonset
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckReplicas(t, NewBuilder(sample()), "DaemonSet", with)
	resourcestest.CheckSuspension(t, NewBuilder(sample()), resourcestest.Suspension[*appsv1.DaemonSet]{Deletes: true, States: []resourcestest.SuspensionState[*appsv1.DaemonSet]{
		{Why: "it is deleted with all its pods", Object: onNodes(3, 3, ""), Want: resourcestest.Suspended("")},
	}})

	ready, healthy := resourcestest.Alive(concepts.AliveConvergingStatusHealthy, "All replicas are ready"), resourcestest.Grace(concepts.GraceStatusHealthy, "All replicas are ready")
	rollout := resourcestest.Unready(concepts.AliveConvergingStatusUpdating, "Waiting for rollout: 1/3 pods updated")
	resourcestest.CheckStates(t, NewBuilder(sample()), []resourcestest.State[*appsv1.DaemonSet, concepts.AliveStatusWithReason]{
		{Why: "the rollout is unfinished", Object: onNodes(3, 1, appsv1.RollingUpdateDaemonSetStrategyType), After: rollout, Grace: healthy},
		{Why: "the rollout is unfinished, with the default strategy", Object: onNodes(3, 1, ""), After: rollout, Grace: healthy},
		{Why: "pods that are not needed any more are updated as well", Object: onNodes(3, 4, appsv1.RollingUpdateDaemonSetStrategyType), Status: ready, Grace: healthy},
		{Why: "pods are replaced when somebody deletes them", Object: onNodes(3, 0, appsv1.OnDeleteDaemonSetStrategyType), Status: ready, Grace: healthy},
		{
			Why: "pods that somebody has deleted are not ready again", Object: onNodes(2, 0, appsv1.OnDeleteDaemonSetStrategyType),
			After: resourcestest.Unready(concepts.AliveConvergingStatusScaling, "Waiting for replicas: 2/3 ready"),
			Grace: resourcestest.Grace(concepts.GraceStatusDegraded, "DaemonSet partially available"),
		},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	object := sample()
	m := NewMutator(object)
	resourcestest.CheckOrder(
		t, m, resourcestest.Metadata(m), resourcestest.Recorded("daemonset spec", m.EditDaemonSetSpec), resourcestest.PodTemplate(&m.PodTemplate, &object.Spec.Template),
	)
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "apps/v1/DaemonSet/default/sample")
}
