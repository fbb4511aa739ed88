// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Component is a custom resource that is reconciled by this package. The implementing type must be a pointer to
// a struct.
type Component interface {
	client.Object
	// GetSpec returns the spec, usually a pointer to it. It is passed to the generator as parameters, and must not
	// be changed by the caller.
	GetSpec() types.Unstructurable
	// GetStatus returns a pointer into the component, never nil. What is written there is persisted.
	GetStatus() *Status
}

// The interfaces below are capabilities: each may be implemented by the component or by its spec; if both do, the
// component wins. Their zero values mean that the default applies.

// PlacementConfiguration decides where dependents are deployed.
type PlacementConfiguration interface {
	// GetDeploymentNamespace returns the namespace that is passed to the generator, and into which dependents go
	// that do not name one. Defaults to the namespace of the component.
	GetDeploymentNamespace() string
	// GetDeploymentName returns the name that is passed to the generator. Defaults to the name of the component.
	GetDeploymentName() string
}

// ClientConfiguration deploys dependents into another cluster.
type ClientConfiguration interface {
	// GetKubeConfig returns a kubeconfig; if it is empty, dependents are deployed into the component's own cluster.
	GetKubeConfig() []byte
}

// ImpersonationConfiguration deploys dependents as another user. It has no effect together with a kubeconfig.
type ImpersonationConfiguration interface {
	// GetImpersonationUser returns a user name. In system:serviceaccount::<name>, the namespace of the component
	// is filled in.
	GetImpersonationUser() string
	// GetImpersonationGroups returns groups.
	GetImpersonationGroups() []string
}

// SuspensionConfiguration pauses reconciliation.
type SuspensionConfiguration interface {
	// IsSuspended reports whether dependents are left alone for now. It has no effect while the component is deleted.
	IsSuspended() bool
}

// RequeueConfiguration overrides the requeue interval.
type RequeueConfiguration interface {
	// GetRequeueInterval returns the time after which a ready component is looked at again although nothing is
	// known to have happened. Defaults to 10 minutes, and is never less than a second.
	GetRequeueInterval() time.Duration
}

// RetryConfiguration overrides the retry interval.
type RetryConfiguration interface {
	// GetRetryInterval returns the time after which is tried again what failed with a types.RetriableError that
	// does not name a delay. Defaults to the requeue interval, and is never less than a second.
	GetRetryInterval() time.Duration
}

// TimeoutConfiguration overrides the timeout.
type TimeoutConfiguration interface {
	// GetTimeout returns the time after which a component that did not become ready is reported as timed out.
	// Defaults to the requeue interval.
	GetTimeout() time.Duration
}

// PolicyConfiguration sets policies for dependents whose annotations do not. What is empty defaults to the options
// of the reconciler.
type PolicyConfiguration interface {
	// GetAdoptionPolicy returns the default of the adoption-policy annotation.
	GetAdoptionPolicy() reconciler.AdoptionPolicy
	// GetUpdatePolicy returns the default of the update-policy annotation.
	GetUpdatePolicy() reconciler.UpdatePolicy
	// GetDeletePolicy returns the default of the delete-policy annotation.
	GetDeletePolicy() reconciler.DeletePolicy
	// GetMissingNamespacesPolicy returns what happens to dependents whose namespace does not exist.
	GetMissingNamespacesPolicy() reconciler.MissingNamespacesPolicy
}

// ReconcileConfiguration sets the reconcile policy of dependents whose annotations do not.
type ReconcileConfiguration interface {
	// GetReconcilePolicy returns the default of the reconcile-policy annotation; empty means that of the reconciler.
	GetReconcilePolicy() reconciler.ReconcilePolicy
}

// DriftConfiguration sets the drift policy of dependents whose annotations do not.
type DriftConfiguration interface {
	// GetDriftPolicy returns the default of the drift-policy annotation; empty means that of the reconciler.
	GetDriftPolicy() reconciler.DriftPolicy
}

// TypeConfiguration declares types whose instances exist only because of the component.
type TypeConfiguration interface {
	// GetAdditionalManagedTypes returns types, or patterns of types, that are not defined by dependents. Their instances are listed
	// as the identity that writes the dependents; if it may not, a component that has dependents is not deleted.
	GetAdditionalManagedTypes() []reconciler.TypeInfo
}

// ReapplyConfiguration overrides the reapply interval.
type ReapplyConfiguration interface {
	// GetReapplyInterval returns the default of the reapply-interval annotation; zero means that of the reconciler. Less than a second
	// is refused.
	GetReapplyInterval() time.Duration
}

// capability finds an implementation of C on the component, else on its spec.
func capability[C any](component Component) (C, bool) {
	if found, ok := component.(C); ok {
		return found, true
	}
	found, ok := specOf(component).(C)
	return found, ok
}

// specOf returns a pointer to the field Spec of the component, so that methods with pointer receivers count, and so
// that references in it can be loaded. If there is no such field it returns what GetSpec returns.
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
