// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Component is a custom resource that a Reconciler reconciles. The implementing type must be a pointer to a struct.
type Component interface {
	client.Object
	// GetSpec returns the spec, usually as a pointer. The generator receives it as its parameters. Callers must not
	// change it.
	GetSpec() types.Unstructurable
	// GetStatus returns a pointer into the component, never nil. The reconciler persists what is written there.
	GetStatus() *Status
}

// The interfaces below are capabilities. The component or its spec may implement each of them; if both do, the
// component wins. A zero value means the default.

// PlacementConfiguration sets namespace and name of a deployment.
type PlacementConfiguration interface {
	// GetDeploymentNamespace returns the namespace that is passed to the generator. Dependents without a namespace go
	// there. Defaults to the namespace of the component.
	GetDeploymentNamespace() string
	// GetDeploymentName returns the name that is passed to the generator. Defaults to the name of the component.
	GetDeploymentName() string
}

// ClientConfiguration sets the cluster of the dependents.
type ClientConfiguration interface {
	// GetKubeConfig returns a kubeconfig. If it is empty, dependents are deployed to the component's own cluster.
	GetKubeConfig() []byte
}

// ImpersonationConfiguration sets the user that dependents are written as. It has no effect together with a kubeconfig.
type ImpersonationConfiguration interface {
	// GetImpersonationUser returns a user name. In system:serviceaccount::<name>, the empty namespace stands for that
	// of the component.
	GetImpersonationUser() string
	// GetImpersonationGroups returns groups.
	GetImpersonationGroups() []string
}

// SuspensionConfiguration suspends a component.
type SuspensionConfiguration interface {
	// IsSuspended reports whether the component is suspended. Then its dependents are left alone, unless the generator
	// is a generator.Suspending: then PresenceSuspended applies. It has no effect while the component is being deleted.
	IsSuspended() bool
}

// Presence says what becomes of the dependents of a component that is not being deleted.
//
// +kubebuilder:validation:Enum=Active;Suspended;Paused;Archived
type Presence string

const (
	// PresenceActive means that dependents are applied, corrected and deleted as usual.
	PresenceActive Presence = "Active"
	// PresenceSuspended means that dependents with a suspended form (see behaviors.Suspending) are brought into it, in
	// reversed apply order, and corrected if others change them. All other dependents are left alone: they are neither
	// corrected nor deleted. Nothing is created.
	PresenceSuspended Presence = "Suspended"
	// PresencePaused means that no dependent is written or deleted. The component is generated and compared as usual,
	// and its condition says what would be done, and which dependents are not ready.
	PresencePaused Presence = "Paused"
	// PresenceArchived means that the dependents are deleted, and the component stays.
	PresenceArchived Presence = "Archived"
)

// PresenceConfiguration sets what becomes of the dependents.
type PresenceConfiguration interface {
	// GetPresence returns the presence. Defaults to PresenceActive. It has no effect while the component is suspended
	// or being deleted.
	GetPresence() Presence
}

// RequeueConfiguration sets the requeue interval.
type RequeueConfiguration interface {
	// GetRequeueInterval returns how often a ready component is reconciled without an event. Defaults to 10 minutes. At
	// least a second.
	GetRequeueInterval() time.Duration
}

// RetryConfiguration sets the retry interval.
type RetryConfiguration interface {
	// GetRetryInterval returns how long to wait before a retry after a types.RetriableError without a delay of its own.
	// Defaults to 10 seconds, or to the requeue interval if that is shorter. At least a second.
	GetRetryInterval() time.Duration
}

// TimeoutConfiguration sets the timeout.
type TimeoutConfiguration interface {
	// GetTimeout returns how long a component may take to become ready before it is reported as timed out. Defaults to
	// the requeue interval.
	GetTimeout() time.Duration
}

// PolicyConfiguration sets policies for dependents without the corresponding annotation. An empty value means that of
// the ReconcilerOptions.
type PolicyConfiguration interface {
	// GetAdoptionPolicy returns the default of the adoption-policy annotation.
	GetAdoptionPolicy() reconciler.AdoptionPolicy
	// GetUpdatePolicy returns the default of the update-policy annotation.
	GetUpdatePolicy() reconciler.UpdatePolicy
	// GetDeletePolicy returns the default of the delete-policy annotation.
	GetDeletePolicy() reconciler.DeletePolicy
	// GetMissingNamespacesPolicy returns whether missing namespaces of dependents are created.
	GetMissingNamespacesPolicy() reconciler.MissingNamespacesPolicy
}

// ReconcileConfiguration sets the reconcile policy of dependents without the annotation.
type ReconcileConfiguration interface {
	// GetReconcilePolicy returns the default of the reconcile-policy annotation. An empty value means that of the
	// ReconcilerOptions.
	GetReconcilePolicy() reconciler.ReconcilePolicy
}

// DriftConfiguration sets the drift policy of dependents without the annotation.
type DriftConfiguration interface {
	// GetDriftPolicy returns the default of the drift-policy annotation. An empty value means that of the
	// ReconcilerOptions.
	GetDriftPolicy() reconciler.DriftPolicy
}

// TypeConfiguration declares types whose instances depend on the component.
type TypeConfiguration interface {
	// GetAdditionalManagedTypes returns types, or patterns of types, that no dependent defines. The reconciler lists
	// their instances with the identity that writes the dependents. If that identity may not list them, a component
	// with dependents is not deleted.
	GetAdditionalManagedTypes() []reconciler.TypeInfo
}

// ReapplyConfiguration sets the reapply interval.
type ReapplyConfiguration interface {
	// GetReapplyInterval returns the default of the reapply-interval annotation. Zero means that of the
	// ReconcilerOptions. Less than a second is refused.
	GetReapplyInterval() time.Duration
}

// DeletionConfiguration limits how many dependents are deleted because they are not declared any more.
type DeletionConfiguration interface {
	// GetMaxDeletions returns how many redundant dependents may be deleted at once without approval. Empty means that
	// of the ReconcilerOptions.
	GetMaxDeletions() reconciler.MaxDeletions
}

// JudgeConfiguration sets what computes the status of the dependents.
type JudgeConfiguration interface {
	// GetJudge returns the judge, for example one of package probes. It must depend on the component only. Nil means
	// that of the ReconcilerOptions. An error means that the component is invalid: nothing is applied until it changes.
	GetJudge() (status.Judge, error)
}

// capability returns the implementation of C by the component or else by its spec.
func capability[C any](component Component) (C, bool) {
	if found, ok := component.(C); ok {
		return found, true
	}
	found, ok := specOf(component).(C)
	return found, ok
}

// specOf returns a pointer to the field Spec of the component, so that methods with pointer receivers count, and
// references in it can be loaded. Without such a field, it returns the result of GetSpec.
func specOf(component Component) any {
	value := reflect.ValueOf(component)
	if value.Kind() == reflect.Pointer && !value.IsNil() && value.Elem().Kind() == reflect.Struct {
		field := value.Elem().FieldByName("Spec")
		switch {
		case !field.IsValid() || !field.CanInterface():
		case field.Kind() == reflect.Pointer && !field.IsNil():
			return field.Interface()
		case field.Kind() == reflect.Struct:
			return field.Addr().Interface()
		}
	}
	return component.GetSpec()
}
