// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package deployment has typed resources for objects of kind Deployment: a base object, mutations that belong to
// features, and what is known about the life of such objects.
//
// [Builder] and [Resource] are those of package generic, whose documentation says what their methods do, and in
// which order mutations are applied.
package deployment

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects what a Resource consists of.
	Builder = generic.Builder[appsv1.Deployment, *appsv1.Deployment, *Mutator, Mutation, concepts.AliveStatusWithReason]
	// Resource is a Deployment with all that is known about its life. It is Alive, Graceful, Suspendable, Guardable
	// and DataExtractable.
	Resource = generic.Resource[appsv1.Deployment, *appsv1.Deployment, concepts.AliveStatusWithReason]
	// Mutation is a change of a Deployment that belongs to a feature.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for a Deployment, which needs a name and a namespace.
func NewBuilder(deployment *appsv1.Deployment) *Builder {
	kind := generic.NewKind(appsv1.SchemeGroupVersion.WithKind("Deployment"), NewMutator, DefaultConvergingStatusHandler)
	kind.Defaults.GraceStatus = DefaultGraceStatusHandler
	kind.Defaults.DeleteOnSuspend = DefaultDeleteOnSuspendHandler
	kind.Defaults.SuspendMutation = DefaultSuspendMutationHandler
	kind.Defaults.SuspensionStatus = DefaultSuspensionStatusHandler
	return generic.NewBuilder[Mutation](kind, deployment)
}

// Mutator records edits of a Deployment. The categories are, in this order:
//   - object metadata
//   - deployment spec
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

	spec *generic.Category[*editors.DeploymentSpecEditor]
}

// NewMutator returns a Mutator for a Deployment, which is changed when Apply is called.
func NewMutator(current *appsv1.Deployment) *Mutator {
	m := &Mutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &current.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "deployment spec", editors.NewDeploymentSpecEditor(&current.Spec))
	m.PodTemplate = generic.NewPodTemplate(&m.Plan, &current.Spec.Template)
	return m
}

// EditDeploymentSpec records an edit of the deployment spec. Nil is ignored.
func (m *Mutator) EditDeploymentSpec(edit func(*editors.DeploymentSpecEditor) error) {
	m.spec.Record(edit)
}

// EnsureReplicas records the number of replicas, as an edit of the spec.
func (m *Mutator) EnsureReplicas(replicas int32) {
	m.EditDeploymentSpec(func(e *editors.DeploymentSpecEditor) error {
		e.SetReplicas(replicas)
		return nil
	})
}

// DefaultConvergingStatusHandler returns how far a Deployment is. It is Healthy if its controller has observed the
// latest spec, all pods that should exist are ready and have the
// declared form, and no others are left. It is Failing if its conditions say that this will not happen by itself.
// Otherwise it is Creating or Updating, as the operation says; without
// an operation, it is Scaling if pods are missing, and Updating during a rollout.
func DefaultConvergingStatusHandler(op concepts.ConvergingOperation, deployment *appsv1.Deployment) (concepts.AliveStatusWithReason, error) {
	return workload(deployment).Converging(op), nil
}

// DefaultGraceStatusHandler returns how well a Deployment does its job: it is Healthy if as many pods are ready as
// there should be, in whichever form; Degraded if it is another
// number; and Down if no pod is ready.
func DefaultGraceStatusHandler(deployment *appsv1.Deployment) (concepts.GraceStatusWithReason, error) {
	return workload(deployment).Grace(), nil
}

// DefaultDeleteOnSuspendHandler returns false: a suspended Deployment stays, without replicas.
func DefaultDeleteOnSuspendHandler(_ *appsv1.Deployment) bool { return false }

// DefaultSuspendMutationHandler sets the number of replicas to zero.
func DefaultSuspendMutationHandler(mutator *Mutator) error {
	mutator.EnsureReplicas(0)
	return nil
}

// DefaultSuspensionStatusHandler returns how far the suspension of a Deployment is. It is Suspended if its
// controller has observed the latest spec, and no replicas are left.
func DefaultSuspensionStatusHandler(deployment *appsv1.Deployment) (concepts.SuspensionStatusWithReason, error) {
	return workload(deployment).Suspension(), nil
}
