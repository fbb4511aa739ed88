// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

func TestDeploymentSpecEditor(t *testing.T) {
	t.Parallel()
	strategy := appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1))},
	}
	check(t, editors.NewDeploymentSpecEditor, map[string]row[appsv1.DeploymentSpec, *editors.DeploymentSpecEditor]{
		"each method sets its own field": {
			start: appsv1.DeploymentSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{}},
			edit: func(e *editors.DeploymentSpecEditor) {
				e.SetReplicas(2)
				e.SetPaused(true)
				e.SetMinReadySeconds(3)
				e.SetRevisionHistoryLimit(4)
				e.SetProgressDeadlineSeconds(5)
				e.SetStrategy(strategy)
				e.Raw().Selector = nil
			},
			want: appsv1.DeploymentSpec{
				Replicas: new(int32(2)), Paused: true, MinReadySeconds: 3, RevisionHistoryLimit: new(int32(4)), ProgressDeadlineSeconds: new(int32(5)), Strategy: strategy,
			},
		},
		"zero is a value": {
			edit: func(e *editors.DeploymentSpecEditor) { e.SetReplicas(0); e.SetRevisionHistoryLimit(0) },
			want: appsv1.DeploymentSpec{Replicas: new(int32(0)), RevisionHistoryLimit: new(int32(0))},
		},
		"another strategy leaves no parameters of the old one": {
			start: appsv1.DeploymentSpec{Strategy: strategy},
			edit: func(e *editors.DeploymentSpecEditor) {
				e.SetStrategy(appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType})
			},
			want: appsv1.DeploymentSpec{Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}},
		},
	})
}

func TestReplicaSetSpecEditor(t *testing.T) {
	t.Parallel()
	check(t, editors.NewReplicaSetSpecEditor, map[string]row[appsv1.ReplicaSetSpec, *editors.ReplicaSetSpecEditor]{
		"each method sets its own field": {
			start: appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{}},
			edit: func(e *editors.ReplicaSetSpecEditor) {
				e.SetReplicas(0)
				e.SetMinReadySeconds(3)
				e.Raw().Selector = nil
			},
			want: appsv1.ReplicaSetSpec{Replicas: new(int32(0)), MinReadySeconds: 3},
		},
	})
}

func TestStatefulSetSpecEditor(t *testing.T) {
	t.Parallel()
	strategy := appsv1.StatefulSetUpdateStrategy{
		Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))},
	}
	retention := &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	check(t, editors.NewStatefulSetSpecEditor, map[string]row[appsv1.StatefulSetSpec, *editors.StatefulSetSpecEditor]{
		"each method sets its own field": {
			start: appsv1.StatefulSetSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{}},
			edit: func(e *editors.StatefulSetSpecEditor) {
				e.SetReplicas(2)
				e.SetServiceName("headless")
				e.SetPodManagementPolicy(appsv1.ParallelPodManagement)
				e.SetUpdateStrategy(strategy)
				e.SetRevisionHistoryLimit(3)
				e.SetMinReadySeconds(4)
				e.SetPersistentVolumeClaimRetentionPolicy(retention)
				e.Raw().Selector = nil
			},
			want: appsv1.StatefulSetSpec{
				Replicas: new(int32(2)), ServiceName: "headless", PodManagementPolicy: appsv1.ParallelPodManagement, UpdateStrategy: strategy,
				RevisionHistoryLimit: new(int32(3)), MinReadySeconds: 4, PersistentVolumeClaimRetentionPolicy: retention,
			},
		},
		"nil clears the retention policy": {
			start: appsv1.StatefulSetSpec{PersistentVolumeClaimRetentionPolicy: retention},
			edit:  func(e *editors.StatefulSetSpecEditor) { e.SetPersistentVolumeClaimRetentionPolicy(nil) },
		},
	})
}

func TestDaemonSetSpecEditor(t *testing.T) {
	t.Parallel()
	strategy := appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	check(t, editors.NewDaemonSetSpecEditor, map[string]row[appsv1.DaemonSetSpec, *editors.DaemonSetSpecEditor]{
		"each method sets its own field": {
			start: appsv1.DaemonSetSpec{
				UpdateStrategy: appsv1.DaemonSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateDaemonSet{}}, Selector: &metav1.LabelSelector{},
			},
			edit: func(e *editors.DaemonSetSpecEditor) {
				e.SetUpdateStrategy(strategy)
				e.SetMinReadySeconds(1)
				e.SetRevisionHistoryLimit(2)
				e.Raw().Selector = nil
			},
			want: appsv1.DaemonSetSpec{UpdateStrategy: strategy, MinReadySeconds: 1, RevisionHistoryLimit: new(int32(2))},
		},
	})
}

func TestJobSpecEditor(t *testing.T) {
	t.Parallel()
	check(t, editors.NewJobSpecEditor, map[string]row[batchv1.JobSpec, *editors.JobSpecEditor]{
		"each method sets its own field": {
			start: batchv1.JobSpec{Completions: new(int32(9)), Suspend: new(true)},
			edit: func(e *editors.JobSpecEditor) {
				e.SetCompletions(1)
				e.SetParallelism(2)
				e.SetBackoffLimit(0)
				e.SetActiveDeadlineSeconds(3)
				e.SetTTLSecondsAfterFinished(4)
				e.SetCompletionMode(batchv1.IndexedCompletion)
				e.Raw().Suspend = nil
			},
			want: batchv1.JobSpec{
				Completions: new(int32(1)), Parallelism: new(int32(2)), BackoffLimit: new(int32(0)), ActiveDeadlineSeconds: new(int64(3)),
				TTLSecondsAfterFinished: new(int32(4)), CompletionMode: new(batchv1.IndexedCompletion),
			},
		},
	})
}

func TestCronJobSpecEditor(t *testing.T) {
	t.Parallel()
	check(t, editors.NewCronJobSpecEditor, map[string]row[batchv1.CronJobSpec, *editors.CronJobSpecEditor]{
		"each method sets its own field": {
			start: batchv1.CronJobSpec{Schedule: "@hourly", Suspend: new(true)},
			edit: func(e *editors.CronJobSpecEditor) {
				e.SetSchedule("@daily")
				e.SetTimeZone("Europe/Berlin")
				e.SetConcurrencyPolicy(batchv1.ForbidConcurrent)
				e.SetStartingDeadlineSeconds(1)
				e.SetSuccessfulJobsHistoryLimit(0)
				e.SetFailedJobsHistoryLimit(3)
				e.Raw().Suspend = nil
			},
			want: batchv1.CronJobSpec{
				Schedule: "@daily", TimeZone: new("Europe/Berlin"), ConcurrencyPolicy: batchv1.ForbidConcurrent, StartingDeadlineSeconds: new(int64(1)),
				SuccessfulJobsHistoryLimit: new(int32(0)), FailedJobsHistoryLimit: new(int32(3)),
			},
		},
	})
}
