// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// with returns a Deployment with some numbers.
func with(n resourcestest.Numbers) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: n.Generation},
		Spec:       appsv1.DeploymentSpec{Replicas: n.Desired},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: n.Observed, ReadyReplicas: n.Ready, Replicas: n.Current, UpdatedReplicas: n.Updated},
	}
}

// three returns a Deployment that should have three replicas.
func three(ready, current, updated int32, conditions ...appsv1.DeploymentCondition) *appsv1.Deployment {
	deployment := with(resourcestest.Numbers{Generation: 2, Observed: 2, Desired: new(int32(3)), Ready: ready, Current: current, Updated: updated})
	deployment.Status.Conditions = conditions
	return deployment
}

func paused(deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.Spec.Paused = true
	return deployment
}

func stale(deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.Generation++
	return deployment
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckReplicas(t, NewBuilder(sample()), "Deployment", with)
	resourcestest.CheckScaleToZero(t, NewBuilder(sample()), "Deployment", func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = new(int32(0)) }, with)

	stuck := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "timed out"}
	refused := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate"}
	created := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionFalse, Reason: "Created"}
	pausing := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionUnknown, Reason: "DeploymentPaused"}
	ready, healthy := resourcestest.Alive(concepts.AliveConvergingStatusHealthy, "All replicas are ready"), resourcestest.Grace(concepts.GraceStatusHealthy, "All replicas are ready")
	partly := resourcestest.Grace(concepts.GraceStatusDegraded, "Deployment partially available")
	rollout := func(text string) map[concepts.ConvergingOperation]concepts.AliveStatusWithReason {
		return resourcestest.Unready(concepts.AliveConvergingStatusUpdating, "Waiting for rollout: "+text)
	}
	failing := func(text string) concepts.AliveStatusWithReason {
		return resourcestest.Alive(concepts.AliveConvergingStatusFailing, text)
	}
	resourcestest.CheckStates(t, NewBuilder(sample()), []resourcestest.State[*appsv1.Deployment, concepts.AliveStatusWithReason]{
		{Why: "the rollout is unfinished", Object: three(3, 3, 1), After: rollout("1/3 replicas updated"), Grace: healthy},
		{Why: "old replicas are left", Object: three(3, 4, 3), After: rollout("1 old replicas left"), Grace: healthy},
		{Why: "the rollout is paused", Object: paused(three(3, 3, 1)), Status: ready, Grace: healthy},
		{Why: "the rollout is paused while there are surplus replicas", Object: paused(three(3, 4, 1)), After: rollout("1 replicas too many"), Grace: healthy},
		{Why: "the rollout takes too long", Object: three(2, 4, 2, stuck), Status: failing("ProgressDeadlineExceeded: timed out"), Grace: partly},
		{Why: "the rollout takes too long, while enough replicas are ready", Object: three(3, 4, 1, stuck), Status: failing("ProgressDeadlineExceeded: timed out"), Grace: healthy},
		{Why: "the rollout has ended in spite of all", Object: three(3, 3, 3, stuck), Status: ready, Grace: healthy},
		{Why: "replicas cannot be created", Object: three(2, 2, 2, refused), Status: failing("FailedCreate"), Grace: partly},
		{Why: "replicas can be created again", Object: three(3, 4, 3, created), After: rollout("1 old replicas left"), Grace: healthy},
		{
			Why: "a condition that does not mean a failure", Object: three(2, 3, 3, pausing),
			After: resourcestest.Unready(concepts.AliveConvergingStatusScaling, "Waiting for replicas: 2/3 ready"), Grace: partly,
		},
		{
			Why: "the failure is that of an earlier spec", Object: stale(three(2, 2, 2, stuck)),
			After: resourcestest.Unready(concepts.AliveConvergingStatusUpdating, "Waiting for deployment controller to observe latest spec"), Grace: partly,
		},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	object := sample()
	m := NewMutator(object)
	resourcestest.CheckOrder(
		t, m, resourcestest.Metadata(m), resourcestest.Recorded("deployment spec", m.EditDeploymentSpec), resourcestest.PodTemplate(&m.PodTemplate, &object.Spec.Template),
	)
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*appsv1.Deployment, *Mutator]{
		{Why: "EnsureReplicas sets the number", Start: with(resourcestest.Numbers{}), Record: func(m *Mutator) { m.EnsureReplicas(3) }, Want: with(resourcestest.Numbers{Desired: new(int32(3))})},
		{
			Why: "EnsureReplicas replaces the number", Start: with(resourcestest.Numbers{Desired: new(int32(3))}),
			Record: func(m *Mutator) { m.EnsureReplicas(0) }, Want: with(resourcestest.Numbers{Desired: new(int32(0))}),
		},
	})
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "apps/v1/Deployment/default/sample")
}
