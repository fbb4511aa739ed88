// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package job has typed resources for objects of kind Job: a base object, mutations that belong to features, and
// what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package job

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[batchv1.Job, *batchv1.Job, *Mutator, Mutation, concepts.CompletionStatusWithReason]
	// Resource is a Job with all that is known about its life. It is Completable, Graceful, Suspendable, Guardable and
	// DataExtractable.
	Resource = generic.Resource[batchv1.Job, *batchv1.Job, concepts.CompletionStatusWithReason]
	// Mutation is a change of a Job that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a Job, which needs a name and a namespace.
func NewBuilder(job *batchv1.Job) *Builder {
	kind := generic.NewKind(batchv1.SchemeGroupVersion.WithKind("Job"), NewMutator, DefaultConvergingStatusHandler)
	kind.Defaults.DeleteOnSuspend = DefaultDeleteOnSuspendHandler
	kind.Defaults.SuspendMutation = DefaultSuspendMutationHandler
	kind.Defaults.SuspensionStatus = DefaultSuspensionStatusHandler
	return generic.NewBuilder[Mutation](kind, job)
}

// Mutator records edits of a Job. The categories are, in this order:
//   - object metadata
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

	spec *generic.Category[*editors.JobSpecEditor]
}

// NewMutator returns a Mutator for a Job, which is changed when Apply is called.
func NewMutator(current *batchv1.Job) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "job spec", editors.NewJobSpecEditor(&current.Spec))
	m.PodTemplate = generic.NewPodTemplate(&m.Plan, &current.Spec.Template)
	return m
}

// EditJobSpec records an edit of the job spec. Nil is ignored.
func (m *Mutator) EditJobSpec(edit func(*editors.JobSpecEditor) error) { m.spec.Record(edit) }
