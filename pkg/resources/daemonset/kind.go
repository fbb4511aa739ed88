// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package daemonset has typed resources for objects of kind DaemonSet: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[appsv1.DaemonSet, *appsv1.DaemonSet, *Mutator, Mutation, concepts.AliveStatusWithReason]
	// Resource is a DaemonSet with all that is known about its life. It is Alive, Graceful, Suspendable, Guardable and
	// DataExtractable.
	Resource = generic.Resource[appsv1.DaemonSet, *appsv1.DaemonSet, concepts.AliveStatusWithReason]
	// Mutation is a change of a DaemonSet that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a DaemonSet, which needs a name and a namespace.
func NewBuilder(daemonset *appsv1.DaemonSet) *Builder {
	kind := generic.NewKind(appsv1.SchemeGroupVersion.WithKind("DaemonSet"), NewMutator, DefaultConvergingStatusHandler)
	kind.Defaults.GraceStatus = DefaultGraceStatusHandler
	kind.Defaults.DeleteOnSuspend = DefaultDeleteOnSuspendHandler
	return generic.NewBuilder[Mutation](kind, daemonset)
}

// Mutator records edits of a DaemonSet. The categories are, in this order:
//   - object metadata
//   - daemonset spec
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

	spec *generic.Category[*editors.DaemonSetSpecEditor]
}

// NewMutator returns a Mutator for a DaemonSet, which is changed when Apply is called.
func NewMutator(current *appsv1.DaemonSet) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "daemonset spec", editors.NewDaemonSetSpecEditor(&current.Spec))
	m.PodTemplate = generic.NewPodTemplate(&m.Plan, &current.Spec.Template)
	return m
}

// EditDaemonSetSpec records an edit of the daemonset spec. Nil is ignored.
func (m *Mutator) EditDaemonSetSpec(edit func(*editors.DaemonSetSpecEditor) error) {
	m.spec.Record(edit)
}

// DefaultConvergingStatusHandler returns how far a DaemonSet is. It is Healthy if its controller has observed the
// latest spec, all pods that should exist are ready and have the
// declared form, and no others are left. It is Failing if its conditions say that this will not happen by itself.
// Otherwise it is Creating or Updating, as the operation says; without
// an operation, it is Scaling if pods are missing, and Updating during a rollout.
func DefaultConvergingStatusHandler(op concepts.ConvergingOperation, daemonset *appsv1.DaemonSet) (concepts.AliveStatusWithReason, error) {
	return workload(daemonset).Converging(op), nil
}

// DefaultGraceStatusHandler returns how well a DaemonSet does its job: it is Healthy if as many pods are ready as
// there should be, in whichever form; Degraded if it is another
// number; and Down if no pod is ready.
func DefaultGraceStatusHandler(daemonset *appsv1.DaemonSet) (concepts.GraceStatusWithReason, error) {
	return workload(daemonset).Grace(), nil
}

// DefaultDeleteOnSuspendHandler returns true: a DaemonSet has no form in which it does no work, so it is deleted.
func DefaultDeleteOnSuspendHandler(_ *appsv1.DaemonSet) bool { return true }
