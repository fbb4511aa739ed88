// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// +kubebuilder:object:generate=true

// Spec has the fields of PlacementSpec, but no effect of its own.
//
// Deprecated: use PlacementSpec.
type Spec struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// +kubebuilder:object:generate=true

// PlacementSpec implements PlacementConfiguration.
type PlacementSpec struct {
	// Namespace of the dependents that do not name one. Defaults to the namespace of the component.
	Namespace string `json:"namespace,omitempty"`
	// Name that is passed to the generator, such as the name of a Helm release. Defaults to the name of the component.
	Name string `json:"name,omitempty"`
}

var _ PlacementConfiguration = &PlacementSpec{}

// GetDeploymentNamespace implements PlacementConfiguration.
func (s *PlacementSpec) GetDeploymentNamespace() string { return s.Namespace }

// GetDeploymentName implements PlacementConfiguration.
func (s *PlacementSpec) GetDeploymentName() string { return s.Name }

// +kubebuilder:object:generate=true

// ClientSpec implements ClientConfiguration.
type ClientSpec struct {
	// KubeConfig of the cluster in which the dependents live. Defaults to the cluster of the component.
	KubeConfig *KubeConfigSpec `json:"kubeConfig,omitempty"`
}

// +kubebuilder:object:generate=true

// KubeConfigSpec says where the kubeconfig is stored.
type KubeConfigSpec struct {
	// SecretRef refers to the Secret with the kubeconfig. If it has no key, the keys value, value.yaml and value.yml
	// are tried.
	SecretRef SecretKeyReference `json:"secretRef" fallbackKeys:"value,value.yaml,value.yml"`
}

var _ ClientConfiguration = &ClientSpec{}

// GetKubeConfig implements ClientConfiguration; it returns nil until the reference is loaded.
func (s *ClientSpec) GetKubeConfig() []byte {
	if s.KubeConfig == nil {
		return nil
	}
	return s.KubeConfig.SecretRef.Value()
}

// +kubebuilder:object:generate=true

// ImpersonationSpec implements ImpersonationConfiguration.
type ImpersonationSpec struct {
	// ServiceAccountName is the name of a ServiceAccount in the namespace of the component. Dependents are read and
	// written with its permissions.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

var _ ImpersonationConfiguration = &ImpersonationSpec{}

// GetImpersonationUser implements ImpersonationConfiguration. The namespace is left to be filled in.
func (s *ImpersonationSpec) GetImpersonationUser() string {
	if s.ServiceAccountName == "" {
		return ""
	}
	return serviceAccountPrefix + ":" + s.ServiceAccountName
}

// GetImpersonationGroups implements ImpersonationConfiguration; it returns nil.
func (s *ImpersonationSpec) GetImpersonationGroups() []string { return nil }

// +kubebuilder:object:generate=true

// SuspensionSpec implements SuspensionConfiguration.
type SuspensionSpec struct {
	// Suspend suspends the component until it is unset, or until the component is deleted. Dependents that the operator
	// can suspend are suspended, for example by scaling them down. All others are left alone.
	Suspend bool `json:"suspend,omitempty"`
}

var _ SuspensionConfiguration = &SuspensionSpec{}

// IsSuspended implements SuspensionConfiguration.
func (s *SuspensionSpec) IsSuspended() bool { return s.Suspend }

// +kubebuilder:object:generate=true

// PresenceSpec implements PresenceConfiguration.
type PresenceSpec struct {
	// Presence is Active, Suspended, Paused or Archived. Suspended: dependents that the operator can suspend are
	// suspended, for example by scaling them down. All others are left alone, and run on. Paused: no dependent is
	// written or deleted, and the condition Ready says what would be done. Archived: the dependents are deleted, and
	// the component stays. Defaults to Active.
	Presence Presence `json:"presence,omitempty"`
}

var _ PresenceConfiguration = &PresenceSpec{}

// GetPresence implements PresenceConfiguration.
func (s *PresenceSpec) GetPresence() Presence { return s.Presence }

// +kubebuilder:object:generate=true

// RequeueSpec implements RequeueConfiguration.
type RequeueSpec struct {
	// RequeueInterval is the time after which a ready component is reconciled again, even if nothing has changed.
	// Defaults to 10m.
	// +kubebuilder:validation:Type:=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
	RequeueInterval *metav1.Duration `json:"requeueInterval,omitempty"`
}

var _ RequeueConfiguration = &RequeueSpec{}

// GetRequeueInterval implements RequeueConfiguration.
func (s *RequeueSpec) GetRequeueInterval() time.Duration {
	return ptr.Deref(s.RequeueInterval, metav1.Duration{}).Duration
}

// +kubebuilder:object:generate=true

// RetrySpec implements RetryConfiguration.
type RetrySpec struct {
	// RetryInterval is the time after which the component is reconciled again if it waits for something outside, such
	// as a missing reference. Defaults to 10s, or to requeueInterval if that is shorter.
	// +kubebuilder:validation:Type:=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`
}

var _ RetryConfiguration = &RetrySpec{}

// GetRetryInterval implements RetryConfiguration.
func (s *RetrySpec) GetRetryInterval() time.Duration {
	return ptr.Deref(s.RetryInterval, metav1.Duration{}).Duration
}

// +kubebuilder:object:generate=true

// TimeoutSpec implements TimeoutConfiguration.
type TimeoutSpec struct {
	// Timeout is the time within which the component should become ready. After it, the component is reported as
	// stalled, and is still reconciled. A call of the generator is canceled after this time, and after at most nine
	// minutes. Defaults to requeueInterval.
	// +kubebuilder:validation:Type:=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

var _ TimeoutConfiguration = &TimeoutSpec{}

// GetTimeout implements TimeoutConfiguration.
func (s *TimeoutSpec) GetTimeout() time.Duration {
	return ptr.Deref(s.Timeout, metav1.Duration{}).Duration
}

// +kubebuilder:object:generate=true

// ReapplySpec implements ReapplyConfiguration.
type ReapplySpec struct {
	// ReapplyInterval is the time after which a dependent is applied again if another client may have changed it.
	// Defaults to 60m.
	// +kubebuilder:validation:Type:=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
	ReapplyInterval *metav1.Duration `json:"reapplyInterval,omitempty"`
}

var _ ReapplyConfiguration = &ReapplySpec{}

// GetReapplyInterval implements ReapplyConfiguration.
func (s *ReapplySpec) GetReapplyInterval() time.Duration {
	return ptr.Deref(s.ReapplyInterval, metav1.Duration{}).Duration
}

// +kubebuilder:object:generate=true

// PolicySpec implements PolicyConfiguration.
type PolicySpec struct {
	// AdoptionPolicy says whether objects that already exist become dependents. Defaults to the policy of the operator.
	// +kubebuilder:validation:Enum=Never;IfUnowned;Always
	AdoptionPolicy reconciler.AdoptionPolicy `json:"adoptionPolicy,omitempty"`
	// UpdatePolicy says how dependents are updated. Defaults to the policy of the operator.
	// +kubebuilder:validation:Enum=Recreate;Replace;SsaMerge;SsaOverride
	UpdatePolicy reconciler.UpdatePolicy `json:"updatePolicy,omitempty"`
	// DeletePolicy says what happens to dependents that are removed from the manifests, or whose component is deleted.
	// Defaults to the policy of the operator.
	// +kubebuilder:validation:Enum=Delete;Orphan;ConfirmOnDelete
	DeletePolicy reconciler.DeletePolicy `json:"deletePolicy,omitempty"`
	// MissingNamespacesPolicy says whether missing namespaces of dependents are created. Defaults to the policy of the
	// operator.
	// +kubebuilder:validation:Enum=DoNotCreate;Create
	MissingNamespacesPolicy reconciler.MissingNamespacesPolicy `json:"missingNamespacesPolicy,omitempty"`
}

var _ PolicyConfiguration = &PolicySpec{}

// GetAdoptionPolicy implements PolicyConfiguration.
func (s *PolicySpec) GetAdoptionPolicy() reconciler.AdoptionPolicy { return s.AdoptionPolicy }

// GetUpdatePolicy implements PolicyConfiguration.
func (s *PolicySpec) GetUpdatePolicy() reconciler.UpdatePolicy { return s.UpdatePolicy }

// GetDeletePolicy implements PolicyConfiguration.
func (s *PolicySpec) GetDeletePolicy() reconciler.DeletePolicy { return s.DeletePolicy }

// GetMissingNamespacesPolicy implements PolicyConfiguration.
func (s *PolicySpec) GetMissingNamespacesPolicy() reconciler.MissingNamespacesPolicy {
	return s.MissingNamespacesPolicy
}

// +kubebuilder:object:generate=true

// ReconcileSpec implements ReconcileConfiguration.
type ReconcileSpec struct {
	// ReconcilePolicy says which changes cause dependents to be applied again. Defaults to the policy of the operator.
	// +kubebuilder:validation:Enum=OnObjectChange;OnObjectOrComponentChange;Once
	ReconcilePolicy reconciler.ReconcilePolicy `json:"reconcilePolicy,omitempty"`
}

var _ ReconcileConfiguration = &ReconcileSpec{}

// GetReconcilePolicy implements ReconcileConfiguration.
func (s *ReconcileSpec) GetReconcilePolicy() reconciler.ReconcilePolicy { return s.ReconcilePolicy }

// +kubebuilder:object:generate=true

// DriftSpec implements DriftConfiguration.
type DriftSpec struct {
	// DriftPolicy says what happens if other clients change dependents. Defaults to the policy of the operator.
	// +kubebuilder:validation:Enum=Correct;Report;Ignore
	DriftPolicy reconciler.DriftPolicy `json:"driftPolicy,omitempty"`
}

var _ DriftConfiguration = &DriftSpec{}

// GetDriftPolicy implements DriftConfiguration.
func (s *DriftSpec) GetDriftPolicy() reconciler.DriftPolicy { return s.DriftPolicy }

// +kubebuilder:object:generate=true

// TypeSpec implements TypeConfiguration.
type TypeSpec struct {
	// AdditionalManagedTypes are types that exist because of the component, although no dependent defines them. The
	// component is not deleted while there are instances of these types that are not its dependents.
	AdditionalManagedTypes []reconciler.TypeInfo `json:"additionalManagedTypes,omitempty"`
}

var _ TypeConfiguration = &TypeSpec{}

// GetAdditionalManagedTypes implements TypeConfiguration.
func (s *TypeSpec) GetAdditionalManagedTypes() []reconciler.TypeInfo { return s.AdditionalManagedTypes }

// +kubebuilder:object:generate=true

// DeletionSpec implements DeletionConfiguration.
type DeletionSpec struct {
	// MaxDeletions is how many dependents may be deleted at once, without approval, because they are not declared any
	// more: a number, a percentage of the dependents such as "25%", or AllButOne. If there are more, they stay until
	// the annotation approve-deletions is set as the status says. Defaults to the limit of the operator.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^([0-9]+|[0-9]{1,2}%|100%|AllButOne)$"
	MaxDeletions *intstr.IntOrString `json:"maxDeletions,omitempty"`
}

var _ DeletionConfiguration = &DeletionSpec{}

// GetMaxDeletions implements DeletionConfiguration.
func (s *DeletionSpec) GetMaxDeletions() reconciler.MaxDeletions {
	if s.MaxDeletions == nil {
		return ""
	}
	return reconciler.MaxDeletions(s.MaxDeletions.String())
}
