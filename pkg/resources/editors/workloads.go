// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	appsv1 "k8s.io/api/apps/v1"
)

// DeploymentSpecEditor edits the spec of a Deployment.
type DeploymentSpecEditor struct {
	specEditor[appsv1.DeploymentSpec]
}

// NewDeploymentSpecEditor returns an editor of the given spec.
func NewDeploymentSpecEditor(spec *appsv1.DeploymentSpec) *DeploymentSpecEditor {
	return &DeploymentSpecEditor{specEditorOf(spec)}
}

// SetReplicas sets the number of pods.
func (e *DeploymentSpecEditor) SetReplicas(replicas int32) { e.spec.Replicas = &replicas }

// SetPaused sets whether changes of the pod template wait until the Deployment is resumed.
func (e *DeploymentSpecEditor) SetPaused(paused bool) { e.spec.Paused = paused }

// SetMinReadySeconds sets how long a pod must be ready until it counts as available.
func (e *DeploymentSpecEditor) SetMinReadySeconds(seconds int32) { e.spec.MinReadySeconds = seconds }

// SetRevisionHistoryLimit sets how many old ReplicaSets are kept.
func (e *DeploymentSpecEditor) SetRevisionHistoryLimit(limit int32) {
	e.spec.RevisionHistoryLimit = &limit
}

// SetProgressDeadlineSeconds sets after which time without progress a rollout counts as failed.
func (e *DeploymentSpecEditor) SetProgressDeadlineSeconds(seconds int32) {
	e.spec.ProgressDeadlineSeconds = &seconds
}

// ReplicaSetSpecEditor edits the spec of a ReplicaSet. It has no method for the selector, which is immutable.
type ReplicaSetSpecEditor struct {
	specEditor[appsv1.ReplicaSetSpec]
}

// NewReplicaSetSpecEditor returns an editor of the given spec.
func NewReplicaSetSpecEditor(spec *appsv1.ReplicaSetSpec) *ReplicaSetSpecEditor {
	return &ReplicaSetSpecEditor{specEditorOf(spec)}
}

// SetReplicas sets the number of pods.
func (e *ReplicaSetSpecEditor) SetReplicas(replicas int32) { e.spec.Replicas = &replicas }

// SetMinReadySeconds sets how long a pod must be ready until it counts as available.
func (e *ReplicaSetSpecEditor) SetMinReadySeconds(seconds int32) { e.spec.MinReadySeconds = seconds }

// StatefulSetSpecEditor edits the spec of a StatefulSet.
type StatefulSetSpecEditor struct {
	specEditor[appsv1.StatefulSetSpec]
}

// NewStatefulSetSpecEditor returns an editor of the given spec.
func NewStatefulSetSpecEditor(spec *appsv1.StatefulSetSpec) *StatefulSetSpecEditor {
	return &StatefulSetSpecEditor{specEditorOf(spec)}
}

// SetReplicas sets the number of pods.
func (e *StatefulSetSpecEditor) SetReplicas(replicas int32) { e.spec.Replicas = &replicas }

// SetServiceName sets the headless Service that gives the pods their names. It is immutable.
func (e *StatefulSetSpecEditor) SetServiceName(name string) { e.spec.ServiceName = name }

// SetPodManagementPolicy sets whether pods are created one after the other, or in parallel. It is immutable.
func (e *StatefulSetSpecEditor) SetPodManagementPolicy(policy appsv1.PodManagementPolicyType) {
	e.spec.PodManagementPolicy = policy
}

// SetUpdateStrategy replaces the update strategy, including the parameters of a rolling update.
func (e *StatefulSetSpecEditor) SetUpdateStrategy(strategy appsv1.StatefulSetUpdateStrategy) {
	e.spec.UpdateStrategy = *strategy.DeepCopy()
}

// SetRevisionHistoryLimit sets how many old ControllerRevisions are kept.
func (e *StatefulSetSpecEditor) SetRevisionHistoryLimit(limit int32) {
	e.spec.RevisionHistoryLimit = &limit
}

// SetMinReadySeconds sets how long a pod must be ready until it counts as available.
func (e *StatefulSetSpecEditor) SetMinReadySeconds(seconds int32) { e.spec.MinReadySeconds = seconds }

// SetPersistentVolumeClaimRetentionPolicy replaces the rule that says when the claims of pods are deleted; nil clears
// it.
func (e *StatefulSetSpecEditor) SetPersistentVolumeClaimRetentionPolicy(policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) {
	e.spec.PersistentVolumeClaimRetentionPolicy = policy.DeepCopy()
}

// DaemonSetSpecEditor edits the spec of a DaemonSet.
type DaemonSetSpecEditor struct {
	specEditor[appsv1.DaemonSetSpec]
}

// NewDaemonSetSpecEditor returns an editor of the given spec.
func NewDaemonSetSpecEditor(spec *appsv1.DaemonSetSpec) *DaemonSetSpecEditor {
	return &DaemonSetSpecEditor{specEditorOf(spec)}
}

// SetUpdateStrategy replaces the update strategy, including the parameters of a rolling update.
func (e *DaemonSetSpecEditor) SetUpdateStrategy(strategy appsv1.DaemonSetUpdateStrategy) {
	e.spec.UpdateStrategy = *strategy.DeepCopy()
}

// SetMinReadySeconds sets how long a pod must be ready until it counts as available.
func (e *DaemonSetSpecEditor) SetMinReadySeconds(seconds int32) { e.spec.MinReadySeconds = seconds }

// SetRevisionHistoryLimit sets how many old ControllerRevisions are kept.
func (e *DaemonSetSpecEditor) SetRevisionHistoryLimit(limit int32) {
	e.spec.RevisionHistoryLimit = &limit
}
