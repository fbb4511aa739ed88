// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package statefulset has typed resources for objects of kind StatefulSet: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[appsv1.StatefulSet, *appsv1.StatefulSet, *Mutator, Mutation, concepts.AliveStatusWithReason]
	// Resource is a StatefulSet with all that is known about its life. It is Alive, Graceful, Suspendable, Guardable
	// and DataExtractable.
	Resource = generic.Resource[appsv1.StatefulSet, *appsv1.StatefulSet, concepts.AliveStatusWithReason]
	// Mutation is a change of a StatefulSet that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a StatefulSet, which needs a name and a namespace.
func NewBuilder(statefulset *appsv1.StatefulSet) *Builder {
	kind := generic.NewKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"), NewMutator, DefaultConvergingStatusHandler)
	kind.Defaults.GraceStatus = DefaultGraceStatusHandler
	kind.Defaults.DeleteOnSuspend = DefaultDeleteOnSuspendHandler
	kind.Defaults.SuspendMutation = DefaultSuspendMutationHandler
	kind.Defaults.SuspensionStatus = DefaultSuspensionStatusHandler
	return generic.NewBuilder[Mutation](kind, statefulset)
}

// Mutator records edits of a StatefulSet. The categories are, in this order:
//   - object metadata
//   - statefulset spec
//   - pod template metadata
//   - pod spec
//   - presence of containers
//   - edits of containers
//   - presence of init containers
//   - edits of init containers
//   - volume claim templates
type Mutator struct {
	generic.Plan
	generic.Metadata
	generic.PodTemplate

	spec   *generic.Category[*editors.StatefulSetSpecEditor]
	claims *generic.Category[*[]corev1.PersistentVolumeClaim]
}

// NewMutator returns a Mutator for a StatefulSet, which is changed when Apply is called.
func NewMutator(current *appsv1.StatefulSet) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "statefulset spec", editors.NewStatefulSetSpecEditor(&current.Spec))
	m.PodTemplate = generic.NewPodTemplate(&m.Plan, &current.Spec.Template)
	m.claims = generic.NewCategory(&m.Plan, "volume claim templates", &current.Spec.VolumeClaimTemplates)
	return m
}

// EditStatefulSetSpec records an edit of the statefulset spec. Nil is ignored.
func (m *Mutator) EditStatefulSetSpec(edit func(*editors.StatefulSetSpecEditor) error) {
	m.spec.Record(edit)
}

// EnsureReplicas records the number of replicas, as an edit of the spec.
func (m *Mutator) EnsureReplicas(replicas int32) {
	m.EditStatefulSetSpec(func(e *editors.StatefulSetSpecEditor) error {
		e.SetReplicas(replicas)
		return nil
	})
}

// DefaultConvergingStatusHandler returns how far a StatefulSet is. It is Healthy if its controller has observed
// the latest spec, all pods that should exist are ready and have the
// declared form, and no others are left. It is Failing if its conditions say that this will not happen by itself.
// Otherwise it is Creating or Updating, as the operation says; without
// an operation, it is Scaling if pods are missing, and Updating during a rollout.
func DefaultConvergingStatusHandler(op concepts.ConvergingOperation, statefulset *appsv1.StatefulSet) (concepts.AliveStatusWithReason, error) {
	return workload(statefulset).Converging(op), nil
}

// DefaultGraceStatusHandler returns how well a StatefulSet does its job: it is Healthy if as many pods are ready
// as there should be, in whichever form; Degraded if it is another
// number; and Down if no pod is ready.
func DefaultGraceStatusHandler(statefulset *appsv1.StatefulSet) (concepts.GraceStatusWithReason, error) {
	return workload(statefulset).Grace(), nil
}

// DefaultDeleteOnSuspendHandler returns false: a suspended StatefulSet stays, without replicas.
func DefaultDeleteOnSuspendHandler(_ *appsv1.StatefulSet) bool { return false }

// DefaultSuspendMutationHandler sets the number of replicas to zero.
func DefaultSuspendMutationHandler(mutator *Mutator) error {
	mutator.EnsureReplicas(0)
	return nil
}

// DefaultSuspensionStatusHandler returns how far the suspension of a StatefulSet is. It is Suspended if its
// controller has observed the latest spec, and no replicas are left.
func DefaultSuspensionStatusHandler(statefulset *appsv1.StatefulSet) (concepts.SuspensionStatusWithReason, error) {
	return workload(statefulset).Suspension(), nil
}
