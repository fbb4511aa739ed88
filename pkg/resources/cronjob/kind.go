// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package cronjob has typed resources for objects of kind CronJob: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package cronjob

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[batchv1.CronJob, *batchv1.CronJob, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is a CronJob with all that is known about its life. It is Operational, Graceful, Suspendable, Guardable
	// and DataExtractable.
	Resource = generic.Resource[batchv1.CronJob, *batchv1.CronJob, concepts.OperationalStatusWithReason]
	// Mutation is a change of a CronJob that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a CronJob, which needs a name and a namespace.
func NewBuilder(cronjob *batchv1.CronJob) *Builder {
	kind := generic.NewKind(batchv1.SchemeGroupVersion.WithKind("CronJob"), NewMutator, DefaultConvergingStatusHandler)
	kind.Defaults.DeleteOnSuspend = DefaultDeleteOnSuspendHandler
	kind.Defaults.SuspendMutation = DefaultSuspendMutationHandler
	kind.Defaults.SuspensionStatus = DefaultSuspensionStatusHandler
	return generic.NewBuilder[Mutation](kind, cronjob)
}

// Mutator records edits of a CronJob. The categories are, in this order:
//   - object metadata
//   - cronjob spec
//   - job spec
//   - pod template metadata
//   - pod spec
//   - presence of containers
//   - edits of containers
//   - presence of init containers
//   - edits of init containers
type Mutator struct {
	generic.Plan
	generic.Metadata
	generic.PodTemplate

	spec *generic.Category[*editors.CronJobSpecEditor]
	job  *generic.Category[*editors.JobSpecEditor]
}

// NewMutator returns a Mutator for a CronJob, which is changed when Apply is called.
func NewMutator(current *batchv1.CronJob) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "cronjob spec", editors.NewCronJobSpecEditor(&current.Spec))
	m.job = generic.NewCategory(&m.Plan, "job spec", editors.NewJobSpecEditor(&current.Spec.JobTemplate.Spec))
	m.PodTemplate = generic.NewPodTemplate(&m.Plan, &current.Spec.JobTemplate.Spec.Template)
	return m
}

// EditCronJobSpec records an edit of the cronjob spec. Nil is ignored.
func (m *Mutator) EditCronJobSpec(edit func(*editors.CronJobSpecEditor) error) { m.spec.Record(edit) }

// EditJobSpec records an edit of the job spec. Nil is ignored.
func (m *Mutator) EditJobSpec(edit func(*editors.JobSpecEditor) error) { m.job.Record(edit) }
