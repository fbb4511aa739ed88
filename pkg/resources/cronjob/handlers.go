// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// DefaultConvergingStatusHandler returns Operational: a CronJob works as soon as it exists, regardless of its Jobs.
func DefaultConvergingStatusHandler(op concepts.ConvergingOperation, cronjob *batchv1.CronJob) (concepts.OperationalStatusWithReason, error) {
	return generic.Applied(op, cronjob)
}

// DefaultDeleteOnSuspendHandler returns false: a suspended CronJob stays, and starts no Jobs.
func DefaultDeleteOnSuspendHandler(_ *batchv1.CronJob) bool { return false }

// DefaultSuspendMutationHandler sets spec.suspend. Running Jobs continue.
func DefaultSuspendMutationHandler(mutator *Mutator) error {
	mutator.EditCronJobSpec(handlers.Infallible(func(e *editors.CronJobSpecEditor) { e.Raw().Suspend = new(true) }))
	return nil
}

// DefaultSuspensionStatusHandler returns the progress of a CronJob's suspension. It is Suspended if spec.suspend is set
// and no Job is running.
func DefaultSuspensionStatusHandler(cronjob *batchv1.CronJob) (concepts.SuspensionStatusWithReason, error) {
	if running := len(cronjob.Status.Active); running > 0 {
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: fmt.Sprintf("Waiting for %d running jobs", running)}, nil
	}
	if cronjob.Spec.Suspend == nil || !*cronjob.Spec.Suspend {
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: "The cronjob may start jobs: spec.suspend is not set"}, nil
	}
	return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended, Reason: "No jobs are running"}, nil
}
