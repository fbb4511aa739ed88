// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	batchv1 "k8s.io/api/batch/v1"
)

// JobSpecEditor edits the spec of a Job, or the Job template of a CronJob.
type JobSpecEditor struct{ specEditor[batchv1.JobSpec] }

// NewJobSpecEditor returns an editor of the given spec.
func NewJobSpecEditor(spec *batchv1.JobSpec) *JobSpecEditor {
	return &JobSpecEditor{specEditorOf(spec)}
}

// SetCompletions sets how many pods must succeed.
func (e *JobSpecEditor) SetCompletions(completions int32) { e.spec.Completions = &completions }

// SetParallelism sets how many pods may run at the same time.
func (e *JobSpecEditor) SetParallelism(parallelism int32) { e.spec.Parallelism = &parallelism }

// SetBackoffLimit sets after how many retries the Job fails.
func (e *JobSpecEditor) SetBackoffLimit(limit int32) { e.spec.BackoffLimit = &limit }

// SetActiveDeadlineSeconds sets after which time the Job fails.
func (e *JobSpecEditor) SetActiveDeadlineSeconds(seconds int64) {
	e.spec.ActiveDeadlineSeconds = &seconds
}

// SetTTLSecondsAfterFinished sets when the finished Job is deleted. Zero means at once.
func (e *JobSpecEditor) SetTTLSecondsAfterFinished(seconds int32) {
	e.spec.TTLSecondsAfterFinished = &seconds
}

// SetCompletionMode sets whether pods have an index. It is immutable.
func (e *JobSpecEditor) SetCompletionMode(mode batchv1.CompletionMode) { e.spec.CompletionMode = &mode }

// CronJobSpecEditor edits the spec of a CronJob. [JobSpecEditor] edits its Job template.
type CronJobSpecEditor struct {
	specEditor[batchv1.CronJobSpec]
}

// NewCronJobSpecEditor returns an editor of the given spec.
func NewCronJobSpecEditor(spec *batchv1.CronJobSpec) *CronJobSpecEditor {
	return &CronJobSpecEditor{specEditorOf(spec)}
}

// SetSchedule sets the schedule in cron format.
func (e *CronJobSpecEditor) SetSchedule(schedule string) { e.spec.Schedule = schedule }

// SetTimeZone sets the time zone of the schedule, such as Europe/Berlin.
func (e *CronJobSpecEditor) SetTimeZone(name string) { e.spec.TimeZone = &name }

// SetConcurrencyPolicy sets what happens if a Job is due while another one is running.
func (e *CronJobSpecEditor) SetConcurrencyPolicy(policy batchv1.ConcurrencyPolicy) {
	e.spec.ConcurrencyPolicy = policy
}

// SetStartingDeadlineSeconds sets how late a Job may be started.
func (e *CronJobSpecEditor) SetStartingDeadlineSeconds(seconds int64) {
	e.spec.StartingDeadlineSeconds = &seconds
}

// SetSuccessfulJobsHistoryLimit sets how many successful Jobs are kept.
func (e *CronJobSpecEditor) SetSuccessfulJobsHistoryLimit(limit int32) {
	e.spec.SuccessfulJobsHistoryLimit = &limit
}

// SetFailedJobsHistoryLimit sets how many failed Jobs are kept.
func (e *CronJobSpecEditor) SetFailedJobsHistoryLimit(limit int32) {
	e.spec.FailedJobsHistoryLimit = &limit
}
