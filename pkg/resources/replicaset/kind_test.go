// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package replicaset

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// with returns a ReplicaSet with some numbers. It does not know which replicas have the latest form.
func with(n resourcestest.Numbers) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Generation: n.Generation},
		Spec:       appsv1.ReplicaSetSpec{Replicas: n.Desired},
		Status:     appsv1.ReplicaSetStatus{ObservedGeneration: n.Observed, ReadyReplicas: n.Ready, Replicas: n.Current},
	}
}

// three returns a ReplicaSet that should have three replicas.
func three(ready, current int32, conditions ...appsv1.ReplicaSetCondition) *appsv1.ReplicaSet {
	replicaset := with(resourcestest.Numbers{Generation: 2, Observed: 2, Desired: new(int32(3)), Ready: ready, Current: current})
	replicaset.Status.Conditions = conditions
	return replicaset
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckReplicas(t, NewBuilder(sample()), "ReplicaSet", with)
	resourcestest.CheckScaleToZero(t, NewBuilder(sample()), "ReplicaSet", func(replicaset *appsv1.ReplicaSet) { replicaset.Spec.Replicas = new(int32(0)) }, with)

	refused := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "quota exceeded"}
	created := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionFalse, Reason: "Created"}
	healthy := resourcestest.Grace(concepts.GraceStatusHealthy, "All replicas are ready")
	partly := resourcestest.Grace(concepts.GraceStatusDegraded, "ReplicaSet partially available")
	resourcestest.CheckStates(t, NewBuilder(sample()), []resourcestest.State[*appsv1.ReplicaSet, concepts.AliveStatusWithReason]{
		{
			Why: "surplus replicas are left", Object: three(3, 5),
			After: resourcestest.Unready(concepts.AliveConvergingStatusUpdating, "Waiting for rollout: 2 replicas too many"), Grace: healthy,
		},
		{
			Why: "replicas cannot be created", Object: three(2, 2, refused),
			Status: resourcestest.Alive(concepts.AliveConvergingStatusFailing, "FailedCreate: quota exceeded"), Grace: partly,
		},
		{
			Why: "replicas can be created again", Object: three(2, 3, created),
			After: resourcestest.Unready(concepts.AliveConvergingStatusScaling, "Waiting for replicas: 2/3 ready"), Grace: partly,
		},
		{
			Why: "a failure of the past", Object: three(3, 3, refused),
			Status: resourcestest.Alive(concepts.AliveConvergingStatusHealthy, "All replicas are ready"), Grace: healthy,
		},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	object := sample()
	m := NewMutator(object)
	resourcestest.CheckOrder(
		t, m, resourcestest.Metadata(m), resourcestest.Recorded("replicaset spec", m.EditReplicaSetSpec), resourcestest.PodTemplate(&m.PodTemplate, &object.Spec.Template),
	)
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*appsv1.ReplicaSet, *Mutator]{
		{Why: "EnsureReplicas sets the number", Start: with(resourcestest.Numbers{}), Record: func(m *Mutator) { m.EnsureReplicas(3) }, Want: with(resourcestest.Numbers{Desired: new(int32(3))})},
		{
			Why: "EnsureReplicas replaces the number", Start: with(resourcestest.Numbers{Desired: new(int32(3))}),
			Record: func(m *Mutator) { m.EnsureReplicas(0) }, Want: with(resourcestest.Numbers{Desired: new(int32(0))}),
		},
	})
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "apps/v1/ReplicaSet/default/sample")
}
