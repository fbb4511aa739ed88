// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ func(*component.ImpersonationSpec) string                      = (*component.ImpersonationSpec).GetImpersonationUser
	_ func(*component.ImpersonationSpec) []string                    = (*component.ImpersonationSpec).GetImpersonationGroups
	_ func(*component.PlacementSpec) string                          = (*component.PlacementSpec).GetDeploymentNamespace
	_ func(*component.PlacementSpec) string                          = (*component.PlacementSpec).GetDeploymentName
	_ func(*component.PolicySpec) reconciler.AdoptionPolicy          = (*component.PolicySpec).GetAdoptionPolicy
	_ func(*component.PolicySpec) reconciler.UpdatePolicy            = (*component.PolicySpec).GetUpdatePolicy
	_ func(*component.PolicySpec) reconciler.DeletePolicy            = (*component.PolicySpec).GetDeletePolicy
	_ func(*component.PolicySpec) reconciler.MissingNamespacesPolicy = (*component.PolicySpec).GetMissingNamespacesPolicy
	_ func(*component.RequeueSpec) time.Duration                     = (*component.RequeueSpec).GetRequeueInterval
	_ func(*component.RetrySpec) time.Duration                       = (*component.RetrySpec).GetRetryInterval
	_ func(*component.SuspensionSpec) bool                           = (*component.SuspensionSpec).IsSuspended
	_ func(*component.TimeoutSpec) time.Duration                     = (*component.TimeoutSpec).GetTimeout
)

// An interface that gains a method is not satisfied by existing operators any more.
var (
	_ component.ClientConfiguration = (interface{ GetKubeConfig() []byte })(nil)
	_ component.Component           = (interface {
		client.Object
		GetSpec() types.Unstructurable
		GetStatus() *component.Status
	})(nil)
	_ component.ImpersonationConfiguration = (interface {
		GetImpersonationUser() string
		GetImpersonationGroups() []string
	})(nil)
	_ component.PlacementConfiguration = (interface {
		GetDeploymentNamespace() string
		GetDeploymentName() string
	})(nil)
	_ component.PolicyConfiguration = (interface {
		GetAdoptionPolicy() reconciler.AdoptionPolicy
		GetUpdatePolicy() reconciler.UpdatePolicy
		GetDeletePolicy() reconciler.DeletePolicy
		GetMissingNamespacesPolicy() reconciler.MissingNamespacesPolicy
	})(nil)
	_ component.ReapplyConfiguration = (interface{ GetReapplyInterval() time.Duration })(nil)
	_ component.Reference[*Site]     = (interface {
		Load(ctx context.Context, clnt client.Client, component *Site) error
		Digest() string
	})(nil)
	_ component.RequeueConfiguration    = (interface{ GetRequeueInterval() time.Duration })(nil)
	_ component.RetryConfiguration      = (interface{ GetRetryInterval() time.Duration })(nil)
	_ component.SuspensionConfiguration = (interface{ IsSuspended() bool })(nil)
	_ component.TimeoutConfiguration    = (interface{ GetTimeout() time.Duration })(nil)
	_ component.TypeConfiguration       = (interface {
		GetAdditionalManagedTypes() []reconciler.TypeInfo
	})(nil)
)

// contextOfOperators has the methods that existing operators call in their tests.
type contextOfOperators interface {
	context.Context
	WithReconcilerName(reconcilerName string) component.Context
	WithLocalClient(clnt cluster.Client) component.Context
	WithClient(clnt cluster.Client) component.Context
	WithComponent(component component.Component) component.Context
	WithComponentName(componentName string) component.Context
	WithComponentNamespace(componentNamespace string) component.Context
	WithComponentDigest(componentDigest string) component.Context
	WithComponentRevision(componentRevision int64) component.Context
}

var _ contextOfOperators = component.Context(nil)

// TestReasonsOfTheContract pins what users and their tools read in statuses.
func TestReasonsOfTheContract(t *testing.T) {
	t.Parallel()
	reasons := []string{
		component.ReadyConditionReasonDeletionBlocked, component.ReadyConditionReasonDeletionProcessing,
		component.ReadyConditionReasonDeletionRetrying, component.ReadyConditionReasonError, component.ReadyConditionReasonNew,
		component.ReadyConditionReasonProcessing, component.ReadyConditionReasonReady, component.ReadyConditionReasonRestarting,
		component.ReadyConditionReasonRetrying, component.ReadyConditionReasonSuspended, component.ReadyConditionReasonTimeout,
	}
	want := []string{
		"DeletionBlocked", "DeletionProcessing",
		"DeletionRetrying", "Error", "FirstSeen",
		"Processing", "Ready", "Restarting",
		"Retrying", "Suspended", "Timeout",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	states := []component.State{
		component.StateDeleting, component.StateDeletionPending, component.StateError, component.StatePending, component.StateProcessing,
		component.StateReady,
	}
	if diff := cmp.Diff([]component.State{"Deleting", "DeletionPending", "Error", "Pending", "Processing", "Ready"}, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	conditions := []component.ConditionStatus{component.ConditionFalse, component.ConditionTrue, component.ConditionUnknown}
	if diff := cmp.Diff([]component.ConditionStatus{"False", "True", "Unknown"}, conditions); diff != "" {
		t.Errorf("statuses of conditions (-want +got):\n%s", diff)
	}
	if component.ConditionTypeReady != component.ConditionType("Ready") {
		t.Errorf("unexpected type of condition: %s", component.ConditionTypeReady)
	}
}
