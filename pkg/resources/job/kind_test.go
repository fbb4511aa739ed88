// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// with returns a Job with numbers of pods, and conditions.
func with(active int32, terminating *int32, conditions ...batchv1.JobCondition) *batchv1.Job {
	return &batchv1.Job{Status: batchv1.JobStatus{Active: active, Terminating: terminating, Conditions: conditions}}
}

func condition(name batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) batchv1.JobCondition {
	return batchv1.JobCondition{Type: name, Status: status, Reason: reason, Message: message}
}

type state = resourcestest.State[*batchv1.Job, concepts.CompletionStatusWithReason]

// row returns a row whose reasons are equal.
func row(why string, job *batchv1.Job, status concepts.CompletionStatus, grace concepts.GraceStatus, reason string) state {
	return state{Why: why, Object: job, Status: resourcestest.Completion(status, reason), Grace: resourcestest.Grace(grace, reason)}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	complete := condition(batchv1.JobComplete, corev1.ConditionTrue, "CompletionsReached", "")
	failed := condition(batchv1.JobFailed, corev1.ConditionTrue, "BackoffLimitExceeded", "too many retries")
	resourcestest.CheckStates(t, NewBuilder(sample()), []state{
		row("there are no pods yet", with(0, nil), concepts.CompletionStatusPending, concepts.GraceStatusDegraded, "Waiting for pods to start"),
		row("pods are running", with(2, nil), concepts.CompletionStatusRunning, concepts.GraceStatusDegraded, "2 active pods"),
		row("it is done", with(0, nil, complete), concepts.CompletionStatusCompleted, concepts.GraceStatusHealthy, "The job is complete"),
		row("it has failed", with(0, nil, failed), concepts.CompletionStatusFailing, concepts.GraceStatusDown, "BackoffLimitExceeded: too many retries"),
		row("it fails, and its last pods are ending", with(1, nil, condition(batchv1.JobFailureTarget, corev1.ConditionTrue, "BackoffLimitExceeded", "")),
			concepts.CompletionStatusRunning, concepts.GraceStatusDegraded, "1 active pods"),
		row("a condition that is not True", with(1, nil, condition(batchv1.JobFailed, corev1.ConditionFalse, "", "")),
			concepts.CompletionStatusRunning, concepts.GraceStatusDegraded, "1 active pods"),
		row("it is suspended", with(0, nil, condition(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "")),
			concepts.CompletionStatusPending, concepts.GraceStatusDegraded, "Waiting for pods to start"),
	})
	resourcestest.CheckSuspension(t, NewBuilder(sample()), resourcestest.Suspension[*batchv1.Job]{
		Deletes: true, Change: func(job *batchv1.Job) { job.Spec.Suspend = new(true) },
		States: []resourcestest.SuspensionState[*batchv1.Job]{
			{Why: "pods are running", Object: with(2, nil), Want: resourcestest.Suspending("Waiting for 2 pods to terminate")},
			{Why: "pods are ending", Object: with(0, new(int32(1))), Want: resourcestest.Suspending("Waiting for 1 pods to terminate")},
			{Why: "some pods are running, and some are ending", Object: with(2, new(int32(1))), Want: resourcestest.Suspending("Waiting for 3 pods to terminate")},
			{Why: "it may start pods", Object: with(0, nil), Want: resourcestest.Suspending("The job may start pods: spec.suspend is not set")},
			{Why: "there are no pods", Object: suspended(with(0, nil)), Want: resourcestest.Suspended("The job has no pods")},
			{Why: "no pods are ending", Object: suspended(with(0, new(int32(0)))), Want: resourcestest.Suspended("The job has no pods")},
			{Why: "it is done", Object: with(0, new(int32(1)), complete), Want: resourcestest.Suspended("The job has finished")},
			{Why: "it has failed", Object: with(1, nil, failed), Want: resourcestest.Suspended("The job has finished")},
		},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	object := sample()
	m := NewMutator(object)
	resourcestest.CheckOrder(
		t, m, resourcestest.Metadata(m), resourcestest.Recorded("job spec", m.EditJobSpec), resourcestest.PodTemplate(&m.PodTemplate, &object.Spec.Template),
	)
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "batch/v1/Job/default/sample")
}

func suspended(job *batchv1.Job) *batchv1.Job {
	job.Spec.Suspend = new(true)
	return job
}
