// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// running returns a CronJob some of whose Jobs are running.
func running(names ...string) *batchv1.CronJob {
	cronjob := &batchv1.CronJob{}
	for _, name := range names {
		cronjob.Status.Active = append(cronjob.Status.Active, corev1.ObjectReference{Name: name})
	}
	return cronjob
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	applied, healthy := resourcestest.Operational(concepts.OperationalStatusOperational, "applied"), resourcestest.Grace(concepts.GraceStatusHealthy, "applied")
	resourcestest.CheckStates(t, NewBuilder(sample()), []resourcestest.State[*batchv1.CronJob, concepts.OperationalStatusWithReason]{
		{Why: "no job was started yet", Object: running(), Status: applied, Grace: healthy},
		{Why: "jobs are running", Object: running("a", "b"), Status: applied, Grace: healthy},
	})
	resourcestest.CheckSuspension(t, NewBuilder(sample()), resourcestest.Suspension[*batchv1.CronJob]{
		Change: func(cronjob *batchv1.CronJob) { cronjob.Spec.Suspend = new(true) },
		States: []resourcestest.SuspensionState[*batchv1.CronJob]{
			{Why: "jobs are running", Object: running("a", "b"), Want: resourcestest.Suspending("Waiting for 2 running jobs")},
			{Why: "it may start jobs", Object: running(), Want: resourcestest.Suspending("The cronjob may start jobs: spec.suspend is not set")},
			{Why: "no jobs are running", Object: suspended(running()), Want: resourcestest.Suspended("No jobs are running")},
		},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	object := sample()
	m := NewMutator(object)
	resourcestest.CheckOrder(
		t, m, resourcestest.Metadata(m), resourcestest.Recorded("cronjob spec", m.EditCronJobSpec), resourcestest.Recorded("job spec", m.EditJobSpec),
		resourcestest.PodTemplate(&m.PodTemplate, &object.Spec.JobTemplate.Spec.Template),
	)
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "batch/v1/CronJob/default/sample")
}

func suspended(cronjob *batchv1.CronJob) *batchv1.CronJob {
	cronjob.Spec.Suspend = new(true)
	return cronjob
}
