// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// DefaultConvergingStatusHandler returns the progress of a Job: Completed or TaskFailing by its conditions Complete and
// Failed, TaskRunning if it has active pods, and TaskPending otherwise.
func DefaultConvergingStatusHandler(_ concepts.ConvergingOperation, job *batchv1.Job) (concepts.CompletionStatusWithReason, error) {
	end := endOf(job)
	switch {
	case end != nil && end.Type == batchv1.JobComplete:
		return concepts.CompletionStatusWithReason{Status: concepts.CompletionStatusCompleted, Reason: "The job is complete"}, nil
	case end != nil:
		return concepts.CompletionStatusWithReason{Status: concepts.CompletionStatusFailing, Reason: handlers.Text(end.Reason, end.Message)}, nil
	case job.Status.Active > 0:
		return concepts.CompletionStatusWithReason{Status: concepts.CompletionStatusRunning, Reason: fmt.Sprintf("%d active pods", job.Status.Active)}, nil
	default:
		return concepts.CompletionStatusWithReason{Status: concepts.CompletionStatusPending, Reason: "Waiting for pods to start"}, nil
	}
}

// DefaultDeleteOnSuspendHandler returns true: a suspended Job is deleted, so that it runs from the beginning when the
// component is resumed. A finished Job runs again, too; use WithCustomSuspendDeletionDecision to prevent that.
func DefaultDeleteOnSuspendHandler(_ *batchv1.Job) bool { return true }

// DefaultSuspendMutationHandler sets spec.suspend, so that the pods of the Job end before it is deleted.
func DefaultSuspendMutationHandler(mutator *Mutator) error {
	mutator.EditJobSpec(handlers.Infallible(func(e *editors.JobSpecEditor) { e.Raw().Suspend = new(true) }))
	return nil
}

// DefaultSuspensionStatusHandler returns the progress of a Job's suspension. It is Suspended if the Job has finished,
// or if spec.suspend is set and no pods are active or terminating.
func DefaultSuspensionStatusHandler(job *batchv1.Job) (concepts.SuspensionStatusWithReason, error) {
	left := job.Status.Active
	if job.Status.Terminating != nil {
		left += *job.Status.Terminating
	}
	switch {
	case endOf(job) != nil:
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended, Reason: "The job has finished"}, nil
	case left > 0:
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: fmt.Sprintf("Waiting for %d pods to terminate", left)}, nil
	case job.Spec.Suspend == nil || !*job.Spec.Suspend:
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: "The job may start pods: spec.suspend is not set"}, nil
	default:
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended, Reason: "The job has no pods"}, nil
	}
}

// endOf returns the condition with which a Job has finished; nil if it has not.
func endOf(job *batchv1.Job) *batchv1.JobCondition {
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
	if i < 0 {
		return nil
	}
	return &job.Status.Conditions[i]
}
