// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/component-operator/runtime/pkg/status"
)

func TestDeployment(t *testing.T) {
	t.Parallel()
	head := "apiVersion: apps/v1, kind: Deployment"
	checkVerdicts(t, head, []verdict{
		{
			reason: "a Deployment which the controller has not seen is not current, even with zero replicas",
			object: `{metadata: {generation: 1}, spec: {replicas: 0}}`,
			status: status.InProgressStatus, message: "generation 1 not observed yet",
		},
		{
			reason: "available replicas are what people ask for first",
			object: `{metadata: {generation: 1}, spec: {replicas: 3},
				status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3, availableReplicas: 1, readyReplicas: 1}}`,
			status: status.InProgressStatus, message: "1/3 replicas available",
		},
		{
			reason: "during a rollout the old replicas count as available",
			object: `{metadata: {generation: 2}, spec: {replicas: 3},
				status: {observedGeneration: 2, replicas: 4, updatedReplicas: 1, availableReplicas: 3, readyReplicas: 3}}`,
			status: status.InProgressStatus, message: "3/3 replicas available, 1/3 updated, 1 surplus",
		},
		{
			reason: "replicas that cannot be created say why, without the random name of the pod",
			object: `{metadata: {generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, conditions: [
				{type: ReplicaFailure, status: "True", reason: FailedCreate, message: 'pods "web-7d5f-x2x4z" is forbidden: exceeded quota: small'}]}}`,
			status: status.InProgressStatus, message: "0/1 replicas available, 0/1 updated; replicas cannot be created (FailedCreate): exceeded quota: small",
		},
		{
			reason: "past its progress deadline it has failed, whatever runs",
			object: `{metadata: {generation: 1}, spec: {replicas: 3},
				status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3, availableReplicas: 2, conditions: [
				{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`,
			status: status.FailedStatus, message: "progress deadline exceeded, 2/3 replicas available",
		},
		{
			reason: "a finished rollout is current",
			object: `{metadata: {generation: 1}, spec: {replicas: 3, progressDeadlineSeconds: 600},
				status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3, availableReplicas: 3, readyReplicas: 3, conditions: [
				{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`,
			status: status.CurrentStatus, message: "3/3 replicas available",
		},
		{
			reason: "an object in deletion names the finalizers, sorted",
			object: `{metadata: {generation: 1, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [b.io/two, a.io/one]}}`,
			status: status.TerminatingStatus, message: "waiting for finalizers: a.io/one, b.io/two",
		},
		{
			reason: "a deletion in the foreground waits for objects, not for the finalizer of a controller",
			object: `{metadata: {generation: 1, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a.io/one, foregroundDeletion]}}`,
			status: status.TerminatingStatus, message: "waiting for the deletion of the objects that it owns; waiting for finalizers: a.io/one",
		},
		{
			reason: "a deletion that orphans",
			object: `{metadata: {generation: 1, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [orphan]}}`,
			status: status.TerminatingStatus, message: "waiting until the objects that it owns are orphaned",
		},
	})
}

func TestStatefulSet(t *testing.T) {
	t.Parallel()
	head := "apiVersion: apps/v1, kind: StatefulSet"
	checkVerdicts(t, head, []verdict{
		{
			reason: "pods that nobody has to replace have to be there nevertheless",
			object: `{metadata: {generation: 1}, spec: {replicas: 3, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, replicas: 1}}`,
			status: status.InProgressStatus, message: "0/3 replicas ready",
		},
		{
			reason: "with OnDelete, the user decides when pods are updated",
			object: `{metadata: {generation: 2}, spec: {replicas: 1, updateStrategy: {type: OnDelete}},
				status: {observedGeneration: 2, replicas: 1, readyReplicas: 1, currentRevision: a, updateRevision: b}}`,
			status: status.CurrentStatus, message: "1/1 replicas ready",
		},
		{
			reason: "replicas start one after the other",
			object: `{metadata: {generation: 1}, spec: {replicas: 3},
				status: {observedGeneration: 1, replicas: 2, readyReplicas: 1, updatedReplicas: 2, currentReplicas: 2}}`,
			status: status.InProgressStatus, message: "1/3 replicas ready, 2/3 updated",
		},
		{
			reason: "all ready, but of different revisions",
			object: `{metadata: {generation: 1}, spec: {replicas: 2},
				status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, updatedReplicas: 1, currentReplicas: 1, currentRevision: a, updateRevision: b}}`,
			status: status.InProgressStatus, message: "2/2 replicas ready, 1/2 updated",
		},
		{
			reason: "a partition holds replicas back on purpose",
			object: `{metadata: {generation: 1}, spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}},
				status: {observedGeneration: 1, replicas: 3, readyReplicas: 3, updatedReplicas: 1, currentReplicas: 2, currentRevision: a, updateRevision: b}}`,
			status: status.CurrentStatus, message: "3/3 replicas ready",
		},
		{
			reason: "done",
			object: `{metadata: {generation: 1}, spec: {replicas: 1},
				status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1, currentReplicas: 1, currentRevision: a, updateRevision: a}}`,
			status: status.CurrentStatus, message: "1/1 replicas ready",
		},
	})
}

func TestReplicaSet(t *testing.T) {
	t.Parallel()
	head := "apiVersion: apps/v1, kind: ReplicaSet"
	checkVerdicts(t, head, []verdict{
		{
			reason: "not all available",
			object: `{metadata: {generation: 1}, spec: {replicas: 2},
				status: {observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 1}}`,
			status: status.InProgressStatus, message: "1/2 replicas available",
		},
		{
			reason: "done",
			object: `{metadata: {generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1, replicas: 0}}`,
			status: status.CurrentStatus, message: "0/0 replicas available",
		},
	})
}

func TestDaemonSet(t *testing.T) {
	t.Parallel()
	head := "apiVersion: apps/v1, kind: DaemonSet"
	checkVerdicts(t, head, []verdict{
		{
			reason: "with OnDelete, the user decides when pods are updated",
			object: `{metadata: {generation: 2}, spec: {updateStrategy: {type: OnDelete}},
				status: {observedGeneration: 2, desiredNumberScheduled: 3, currentNumberScheduled: 3, updatedNumberScheduled: 0, numberAvailable: 3, numberReady: 3}}`,
			status: status.CurrentStatus, message: "3/3 pods available",
		},
		{
			reason: "pods have to be available, whatever their version",
			object: `{metadata: {generation: 2}, spec: {updateStrategy: {type: OnDelete}},
				status: {observedGeneration: 2, desiredNumberScheduled: 3, currentNumberScheduled: 3, updatedNumberScheduled: 0, numberAvailable: 2, numberReady: 3}}`,
			status: status.InProgressStatus, message: "2/3 pods available",
		},
		{
			reason: "the controller has not seen it",
			object: `{metadata: {generation: 1}, spec: {}}`,
			status: status.InProgressStatus, message: "generation 1 not observed yet",
		},
		{
			reason: "the controller has not counted nodes yet",
			object: `{metadata: {generation: 1}, status: {observedGeneration: 1}}`,
			status: status.InProgressStatus, message: "not scheduled yet",
		},
		{
			reason: "pods are replaced node by node",
			object: `{metadata: {generation: 1},
				status: {observedGeneration: 1, desiredNumberScheduled: 3, currentNumberScheduled: 3, updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 2}}`,
			status: status.InProgressStatus, message: "2/3 pods available, 2/3 updated",
		},
		{
			reason: "a cluster may have no node for it",
			object: `{metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 0}}`,
			status: status.CurrentStatus, message: "0/0 pods available",
		},
	})
}

func TestJob(t *testing.T) {
	t.Parallel()
	head := "apiVersion: batch/v1, kind: Job"
	checkVerdicts(t, head, []verdict{
		{
			reason: "nobody has seen it",
			object: `{spec: {}}`,
			status: status.InProgressStatus, message: "not started yet",
		},
		{
			reason: "a running Job has not done its work",
			object: `{spec: {completions: 2}, status: {startTime: "2026-01-01T00:00:00Z", active: 1, succeeded: 1, failed: 3}}`,
			status: status.InProgressStatus, message: "running: 1/2 succeeded, 1 active, 3 failed",
		},
		{
			reason: "a suspended Job waits for a user",
			object: `{spec: {suspend: true}, status: {conditions: [{type: Suspended, status: "True"}]}}`,
			status: status.InProgressStatus, message: "suspended",
		},
		{
			reason: "a failed Job does not recover",
			object: `{spec: {},
				status: {startTime: "2026-01-01T00:00:00Z", failed: 1,
				conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}}`,
			status: status.FailedStatus, message: "failed (BackoffLimitExceeded): Job has reached the specified backoff limit",
		},
		{
			reason: "a completed Job is current",
			object: `{spec: {},
				status: {startTime: "2026-01-01T00:00:00Z", succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}}`,
			status: status.CurrentStatus, message: "completed",
		},
	})
}

func TestReplicationController(t *testing.T) {
	t.Parallel()
	checkVerdicts(t, "apiVersion: v1, kind: ReplicationController", []verdict{
		{
			reason: "the controller has not seen it", object: `{metadata: {generation: 1}, spec: {replicas: 0}}`,
			status: status.InProgressStatus, message: "generation 1 not observed yet",
		},
		{
			reason: "kstatus does not know the kind", object: `{metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, availableReplicas: 1}}`,
			status: status.InProgressStatus, message: "1/2 replicas available",
		},
	})
}
