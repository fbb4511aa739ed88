// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// with returns a StatefulSet with some numbers.
func with(n resourcestest.Numbers) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Generation: n.Generation},
		Spec:       appsv1.StatefulSetSpec{Replicas: n.Desired},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: n.Observed, ReadyReplicas: n.Ready, Replicas: n.Current, UpdatedReplicas: n.Updated, CurrentRevision: "new", UpdateRevision: "new",
		},
	}
}

// three returns a StatefulSet with three ready replicas, and a strategy.
func three(current, updated int32, revision string, strategy appsv1.StatefulSetUpdateStrategy) *appsv1.StatefulSet {
	statefulset := with(resourcestest.Numbers{Generation: 2, Observed: 2, Desired: new(int32(3)), Ready: 3, Current: current, Updated: updated})
	statefulset.Status.CurrentRevision, statefulset.Spec.UpdateStrategy = revision, strategy
	return statefulset
}

// from is the strategy that updates replicas from an ordinal on.
func from(partition int32) appsv1.StatefulSetUpdateStrategy {
	return appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckReplicas(t, NewBuilder(sample()), "StatefulSet", with)
	resourcestest.CheckScaleToZero(t, NewBuilder(sample()), "StatefulSet", func(statefulset *appsv1.StatefulSet) { statefulset.Spec.Replicas = new(int32(0)) }, with)

	all := appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{}}
	onDelete := appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	ready, healthy := resourcestest.Alive(concepts.AliveConvergingStatusHealthy, "All replicas are ready"), resourcestest.Grace(concepts.GraceStatusHealthy, "All replicas are ready")
	rollout := func(text string) map[concepts.ConvergingOperation]concepts.AliveStatusWithReason {
		return resourcestest.Unready(concepts.AliveConvergingStatusUpdating, "Waiting for rollout: "+text)
	}
	resourcestest.CheckStates(t, NewBuilder(sample()), []resourcestest.State[*appsv1.StatefulSet, concepts.AliveStatusWithReason]{
		{Why: "the rollout is unfinished", Object: three(3, 1, "old", all), After: rollout("1/3 replicas updated"), Grace: healthy},
		{Why: "the rollout is unfinished, with the default strategy", Object: three(3, 2, "old", appsv1.StatefulSetUpdateStrategy{}), After: rollout("2/3 replicas updated"), Grace: healthy},
		{Why: "all are updated, and the revision is not the current one yet", Object: three(3, 3, "old", all), After: rollout("the new revision is not the current one yet"), Grace: healthy},
		{Why: "the rollout has ended", Object: three(3, 3, "new", all), Status: ready, Grace: healthy},
		{Why: "surplus replicas are left", Object: three(5, 3, "new", all), After: rollout("2 replicas too many"), Grace: healthy},
		{Why: "replicas above the partition are not updated", Object: three(3, 1, "old", from(1)), After: rollout("1/2 replicas updated"), Grace: healthy},
		{Why: "the replicas above the partition are updated", Object: three(3, 2, "old", from(1)), Status: ready, Grace: healthy},
		{Why: "a replica below the partition is updated as well", Object: three(3, 3, "old", from(1)), Status: ready, Grace: healthy},
		{Why: "no replica is above the partition", Object: three(3, 0, "old", from(7)), Status: ready, Grace: healthy},
		{Why: "surplus replicas are left below the partition", Object: three(4, 0, "old", from(7)), After: rollout("1 replicas too many"), Grace: healthy},
		{Why: "a partition of zero is none", Object: three(3, 2, "old", from(0)), After: rollout("2/3 replicas updated"), Grace: healthy},
		{Why: "replicas are replaced when somebody deletes them", Object: three(3, 0, "old", onDelete), Status: ready, Grace: healthy},
		{Why: "surplus replicas are left without a rollout", Object: three(4, 0, "old", onDelete), After: rollout("1 replicas too many"), Grace: healthy},
	})
}

// claim returns a volume claim template.
func claim(name, volume string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
}

func TestMutator(t *testing.T) {
	t.Parallel()
	object := sample()
	m := NewMutator(object)
	resourcestest.CheckOrder(
		t, m, resourcestest.Metadata(m), resourcestest.Recorded("statefulset spec", m.EditStatefulSetSpec), resourcestest.PodTemplate(&m.PodTemplate, &object.Spec.Template),
		resourcestest.Recorded("volume claim templates", m.claims.Record),
	)
	having := func(claims ...corev1.PersistentVolumeClaim) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: claims}}
	}
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*appsv1.StatefulSet, *Mutator]{
		{Why: "EnsureReplicas sets the number", Start: with(resourcestest.Numbers{}), Record: func(m *Mutator) { m.EnsureReplicas(3) }, Want: with(resourcestest.Numbers{Desired: new(int32(3))})},
		{
			Why: "EnsureVolumeClaimTemplate adds one", Start: having(claim("a", "1")),
			Record: func(m *Mutator) { m.EnsureVolumeClaimTemplate(claim("b", "2")) }, Want: having(claim("a", "1"), claim("b", "2")),
		},
		{
			Why: "EnsureVolumeClaimTemplate replaces one where it is", Start: having(claim("a", "1"), claim("b", "2")),
			Record: func(m *Mutator) { m.EnsureVolumeClaimTemplate(claim("a", "3")) }, Want: having(claim("a", "3"), claim("b", "2")),
		},
		{
			Why: "EnsureVolumeClaimTemplate copies at once", Start: having(),
			Record: func(m *Mutator) {
				template := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"tier": "gold"}}}
				m.EnsureVolumeClaimTemplate(template)
				template.Labels["tier"] = "lead"
			}, Want: having(corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"tier": "gold"}}}),
		},
		{
			Why: "RemoveVolumeClaimTemplate removes one", Start: having(claim("a", "1"), claim("b", "2")),
			Record: func(m *Mutator) { m.RemoveVolumeClaimTemplate("a") }, Want: having(claim("b", "2")),
		},
		{
			Why: "RemoveVolumeClaimTemplate does nothing if there is none", Start: having(claim("a", "1")),
			Record: func(m *Mutator) { m.RemoveVolumeClaimTemplate("b") }, Want: having(claim("a", "1")),
		},
	})
}

func TestTemplatesOfAnObjectDoNotChangeWithAnother(t *testing.T) {
	t.Parallel()
	template := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"tier": "gold"}}}
	for range 2 {
		object := sample()
		m := NewMutator(object)
		m.EnsureVolumeClaimTemplate(template)
		if err := m.Apply(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]corev1.PersistentVolumeClaim{template}, object.Spec.VolumeClaimTemplates); diff != "" {
			t.Errorf("unexpected templates (-want +got):\n%s", diff)
		}
		object.Spec.VolumeClaimTemplates[0].Labels["more"] = "added"
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "apps/v1/StatefulSet/default/sample")
}
