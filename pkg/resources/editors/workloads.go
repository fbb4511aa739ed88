// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DeploymentSpecEditor edits the spec of a Deployment.
type DeploymentSpecEditor struct{ editor[appsv1.DeploymentSpec] }

// NewDeploymentSpecEditor returns an editor of the given spec.
func NewDeploymentSpecEditor(spec *appsv1.DeploymentSpec) *DeploymentSpecEditor {
	return &DeploymentSpecEditor{editorOf(spec)}
}

// SetReplicas sets the number of pods.
func (e *DeploymentSpecEditor) SetReplicas(replicas int32) { e.raw.Replicas = &replicas }

// SetPaused sets whether changes of the pod template wait until the Deployment is resumed.
func (e *DeploymentSpecEditor) SetPaused(paused bool) { e.raw.Paused = paused }

// SetMinReadySeconds sets how long a pod must be ready until it counts as available.
func (e *DeploymentSpecEditor) SetMinReadySeconds(seconds int32) { e.raw.MinReadySeconds = seconds }

// SetRevisionHistoryLimit sets how many old ReplicaSets are kept.
func (e *DeploymentSpecEditor) SetRevisionHistoryLimit(limit int32) {
	e.raw.RevisionHistoryLimit = &limit
}

// SetProgressDeadlineSeconds sets how long a rollout may make no progress before it counts as failed.
func (e *DeploymentSpecEditor) SetProgressDeadlineSeconds(seconds int32) {
	e.raw.ProgressDeadlineSeconds = &seconds
}

// ReplicaSetSpecEditor edits the spec of a ReplicaSet. It has no method for the selector, which is immutable.
type ReplicaSetSpecEditor struct{ editor[appsv1.ReplicaSetSpec] }

// NewReplicaSetSpecEditor returns an editor of the given spec.
func NewReplicaSetSpecEditor(spec *appsv1.ReplicaSetSpec) *ReplicaSetSpecEditor {
	return &ReplicaSetSpecEditor{editorOf(spec)}
}

// SetReplicas sets the number of pods.
func (e *ReplicaSetSpecEditor) SetReplicas(replicas int32) { e.raw.Replicas = &replicas }

// SetMinReadySeconds sets how long a pod must be ready until it counts as available.
func (e *ReplicaSetSpecEditor) SetMinReadySeconds(seconds int32) { e.raw.MinReadySeconds = seconds }

// StatefulSetSpecEditor edits the spec of a StatefulSet.
type StatefulSetSpecEditor struct{ editor[appsv1.StatefulSetSpec] }

// NewStatefulSetSpecEditor returns an editor of the given spec.
func NewStatefulSetSpecEditor(spec *appsv1.StatefulSetSpec) *StatefulSetSpecEditor {
	return &StatefulSetSpecEditor{editorOf(spec)}
}

// SetReplicas sets the number of pods.
func (e *StatefulSetSpecEditor) SetReplicas(replicas int32) { e.raw.Replicas = &replicas }

// SetServiceName sets the headless Service that provides the DNS names of the pods. It is immutable.
func (e *StatefulSetSpecEditor) SetServiceName(name string) { e.raw.ServiceName = name }

// SetPodManagementPolicy sets whether pods are created one after the other, or in parallel. It is immutable.
func (e *StatefulSetSpecEditor) SetPodManagementPolicy(policy appsv1.PodManagementPolicyType) {
	e.raw.PodManagementPolicy = policy
}

// SetUpdateStrategy replaces the update strategy, including the parameters of a rolling update.
func (e *StatefulSetSpecEditor) SetUpdateStrategy(strategy appsv1.StatefulSetUpdateStrategy) {
	e.raw.UpdateStrategy = *strategy.DeepCopy()
}

// SetRevisionHistoryLimit sets how many old ControllerRevisions are kept.
func (e *StatefulSetSpecEditor) SetRevisionHistoryLimit(limit int32) {
	e.raw.RevisionHistoryLimit = &limit
}

// SetMinReadySeconds sets how long a pod must be ready until it counts as available.
func (e *StatefulSetSpecEditor) SetMinReadySeconds(seconds int32) { e.raw.MinReadySeconds = seconds }

// SetPersistentVolumeClaimRetentionPolicy replaces the rule for deleting the claims of pods; nil clears it.
func (e *StatefulSetSpecEditor) SetPersistentVolumeClaimRetentionPolicy(policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) {
	e.raw.PersistentVolumeClaimRetentionPolicy = policy.DeepCopy()
}

// DaemonSetSpecEditor edits the spec of a DaemonSet.
type DaemonSetSpecEditor struct{ editor[appsv1.DaemonSetSpec] }

// NewDaemonSetSpecEditor returns an editor of the given spec.
func NewDaemonSetSpecEditor(spec *appsv1.DaemonSetSpec) *DaemonSetSpecEditor {
	return &DaemonSetSpecEditor{editorOf(spec)}
}

// SetUpdateStrategy replaces the update strategy, including the parameters of a rolling update.
func (e *DaemonSetSpecEditor) SetUpdateStrategy(strategy appsv1.DaemonSetUpdateStrategy) {
	e.raw.UpdateStrategy = *strategy.DeepCopy()
}

// SetMinReadySeconds sets how long a pod must be ready until it counts as available.
func (e *DaemonSetSpecEditor) SetMinReadySeconds(seconds int32) { e.raw.MinReadySeconds = seconds }

// SetRevisionHistoryLimit sets how many old ControllerRevisions are kept.
func (e *DaemonSetSpecEditor) SetRevisionHistoryLimit(limit int32) {
	e.raw.RevisionHistoryLimit = &limit
}

// JobSpecEditor edits the spec of a Job, or the Job template of a CronJob.
type JobSpecEditor struct{ editor[batchv1.JobSpec] }

// NewJobSpecEditor returns an editor of the given spec.
func NewJobSpecEditor(spec *batchv1.JobSpec) *JobSpecEditor {
	return &JobSpecEditor{editorOf(spec)}
}

// SetCompletions sets how many pods must succeed.
func (e *JobSpecEditor) SetCompletions(completions int32) { e.raw.Completions = &completions }

// SetParallelism sets how many pods may run at the same time.
func (e *JobSpecEditor) SetParallelism(parallelism int32) { e.raw.Parallelism = &parallelism }

// SetBackoffLimit sets the number of retries before the Job fails.
func (e *JobSpecEditor) SetBackoffLimit(limit int32) { e.raw.BackoffLimit = &limit }

// SetActiveDeadlineSeconds sets how long the Job may be active before it fails.
func (e *JobSpecEditor) SetActiveDeadlineSeconds(seconds int64) {
	e.raw.ActiveDeadlineSeconds = &seconds
}

// SetTTLSecondsAfterFinished sets how long the finished Job is kept. Zero means that it is deleted at once.
func (e *JobSpecEditor) SetTTLSecondsAfterFinished(seconds int32) {
	e.raw.TTLSecondsAfterFinished = &seconds
}

// SetCompletionMode sets whether pods have an index. It is immutable.
func (e *JobSpecEditor) SetCompletionMode(mode batchv1.CompletionMode) { e.raw.CompletionMode = &mode }

// CronJobSpecEditor edits the spec of a CronJob. [JobSpecEditor] edits its Job template.
type CronJobSpecEditor struct{ editor[batchv1.CronJobSpec] }

// NewCronJobSpecEditor returns an editor of the given spec.
func NewCronJobSpecEditor(spec *batchv1.CronJobSpec) *CronJobSpecEditor {
	return &CronJobSpecEditor{editorOf(spec)}
}

// SetSchedule sets the schedule in cron format.
func (e *CronJobSpecEditor) SetSchedule(schedule string) { e.raw.Schedule = schedule }

// SetTimeZone sets the time zone of the schedule, such as Europe/Berlin.
func (e *CronJobSpecEditor) SetTimeZone(name string) { e.raw.TimeZone = &name }

// SetConcurrencyPolicy sets what happens if a Job is due while another one is running.
func (e *CronJobSpecEditor) SetConcurrencyPolicy(policy batchv1.ConcurrencyPolicy) {
	e.raw.ConcurrencyPolicy = policy
}

// SetStartingDeadlineSeconds sets how late a Job may be started.
func (e *CronJobSpecEditor) SetStartingDeadlineSeconds(seconds int64) {
	e.raw.StartingDeadlineSeconds = &seconds
}

// SetSuccessfulJobsHistoryLimit sets how many successful Jobs are kept.
func (e *CronJobSpecEditor) SetSuccessfulJobsHistoryLimit(limit int32) {
	e.raw.SuccessfulJobsHistoryLimit = &limit
}

// SetFailedJobsHistoryLimit sets how many failed Jobs are kept.
func (e *CronJobSpecEditor) SetFailedJobsHistoryLimit(limit int32) {
	e.raw.FailedJobsHistoryLimit = &limit
}

// HPASpecEditor edits the spec of a HorizontalPodAutoscaler.
type HPASpecEditor struct {
	editor[autoscalingv2.HorizontalPodAutoscalerSpec]
}

// NewHPASpecEditor returns an editor of the given spec.
func NewHPASpecEditor(spec *autoscalingv2.HorizontalPodAutoscalerSpec) *HPASpecEditor {
	return &HPASpecEditor{editorOf(spec)}
}

// SetScaleTargetRef sets the workload that is scaled.
func (e *HPASpecEditor) SetScaleTargetRef(target autoscalingv2.CrossVersionObjectReference) {
	e.raw.ScaleTargetRef = target
}

// SetMinReplicas sets the minimum number of pods; nil clears it.
func (e *HPASpecEditor) SetMinReplicas(replicas *int32) {
	e.raw.MinReplicas = nil
	if replicas != nil {
		e.raw.MinReplicas = new(*replicas)
	}
}

// SetMaxReplicas sets the maximum number of pods.
func (e *HPASpecEditor) SetMaxReplicas(replicas int32) { e.raw.MaxReplicas = replicas }

// SetBehavior replaces the rules for the speed of scaling; nil clears them.
func (e *HPASpecEditor) SetBehavior(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior) {
	e.raw.Behavior = behavior.DeepCopy()
}

// EnsureMetric sets a metric with its target value. It is identified by the type and
//   - Resource: the name of the resource
//   - ContainerResource: the name of the resource and the container
//   - Pods, External: the name and the selector of the metric
//   - Object: the described object, and the name and the selector of the metric
//
// Selectors are the same if they have the same requirements, in any order. No selector equals an empty one.
func (e *HPASpecEditor) EnsureMetric(metric autoscalingv2.MetricSpec) {
	ensure(&e.raw.Metrics, *metric.DeepCopy(), by(identifyMetric))
}

// RemoveMetric removes all metrics with the given type and name, regardless of selector, container and described
// object. For the types Resource and ContainerResource, the name is the name of the resource.
func (e *HPASpecEditor) RemoveMetric(metricType autoscalingv2.MetricSourceType, name string) {
	remove(&e.raw.Metrics, func(metric autoscalingv2.MetricSpec) bool {
		identity := identifyMetric(metric)
		return identity.metricType == metricType && identity.name == name
	})
}

// metricIdentity identifies a metric.
type metricIdentity struct {
	metricType autoscalingv2.MetricSourceType
	name       string
	container  string
	described  autoscalingv2.CrossVersionObjectReference
	selector   string
}

// identifyMetric reads only the field for the metric's type. Values missing there are empty in the identity.
func identifyMetric(metric autoscalingv2.MetricSpec) metricIdentity {
	identity := metricIdentity{metricType: metric.Type}
	var named autoscalingv2.MetricIdentifier
	switch metric.Type {
	case autoscalingv2.ResourceMetricSourceType:
		named.Name = string(orNew(metric.Resource).Name)
	case autoscalingv2.ContainerResourceMetricSourceType:
		source := orNew(metric.ContainerResource)
		named.Name, identity.container = string(source.Name), source.Container
	case autoscalingv2.PodsMetricSourceType:
		named = orNew(metric.Pods).Metric
	case autoscalingv2.ExternalMetricSourceType:
		named = orNew(metric.External).Metric
	case autoscalingv2.ObjectMetricSourceType:
		source := orNew(metric.Object)
		named, identity.described = source.Metric, source.DescribedObject
	}
	identity.name, identity.selector = named.Name, requirements(named.Selector)
	return identity
}

// requirements returns the same text for all selectors with the same requirements.
func requirements(selector *metav1.LabelSelector) string {
	if selector == nil {
		return ""
	}
	var texts []string
	note := func(key string, operator metav1.LabelSelectorOperator, values ...string) {
		slices.Sort(values)
		texts = append(texts, fmt.Sprintf("%q %s %q", key, operator, slices.Compact(values)))
	}
	for key, value := range selector.MatchLabels {
		note(key, metav1.LabelSelectorOpIn, value)
	}
	for _, expression := range selector.MatchExpressions {
		note(expression.Key, expression.Operator, slices.Clone(expression.Values)...)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}

// PodDisruptionBudgetSpecEditor edits the spec of a PodDisruptionBudget.
type PodDisruptionBudgetSpecEditor struct {
	editor[policyv1.PodDisruptionBudgetSpec]
}

// NewPodDisruptionBudgetSpecEditor returns an editor of the given spec.
func NewPodDisruptionBudgetSpecEditor(spec *policyv1.PodDisruptionBudgetSpec) *PodDisruptionBudgetSpecEditor {
	return &PodDisruptionBudgetSpecEditor{editorOf(spec)}
}

// SetMinAvailable sets how many pods, or what percentage, must stay available. The API server refuses a budget that has
// maxUnavailable as well; see [PodDisruptionBudgetSpecEditor.ClearMaxUnavailable].
func (e *PodDisruptionBudgetSpecEditor) SetMinAvailable(value intstr.IntOrString) {
	e.raw.MinAvailable = &value
}

// ClearMinAvailable clears minAvailable.
func (e *PodDisruptionBudgetSpecEditor) ClearMinAvailable() { e.raw.MinAvailable = nil }

// SetMaxUnavailable sets how many pods, or what percentage, may be unavailable. The API server refuses a budget that
// has minAvailable as well; see [PodDisruptionBudgetSpecEditor.ClearMinAvailable].
func (e *PodDisruptionBudgetSpecEditor) SetMaxUnavailable(value intstr.IntOrString) {
	e.raw.MaxUnavailable = &value
}

// ClearMaxUnavailable clears maxUnavailable.
func (e *PodDisruptionBudgetSpecEditor) ClearMaxUnavailable() { e.raw.MaxUnavailable = nil }

// SetSelector replaces the selector of pods. With nil the budget selects no pods, with an empty selector it selects all
// pods of the namespace.
func (e *PodDisruptionBudgetSpecEditor) SetSelector(selector *metav1.LabelSelector) {
	e.raw.Selector = selector.DeepCopy()
}

// SetUnhealthyPodEvictionPolicy sets when pods that are not ready may be evicted.
func (e *PodDisruptionBudgetSpecEditor) SetUnhealthyPodEvictionPolicy(policy policyv1.UnhealthyPodEvictionPolicyType) {
	e.raw.UnhealthyPodEvictionPolicy = &policy
}

// ClearUnhealthyPodEvictionPolicy clears the policy for pods that are not ready.
func (e *PodDisruptionBudgetSpecEditor) ClearUnhealthyPodEvictionPolicy() {
	e.raw.UnhealthyPodEvictionPolicy = nil
}
