// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
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
//
// Deprecated: use PresenceSpec. The value true means the same as the presence Suspended.
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
	// ReapplyInterval is the longest wait between two corrections, or two checks, of a dependent that other clients keep
	// changing. The wait for a correction is at least 10m. Defaults to 60m.
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
//
// Deprecated: use PresenceConfiguration.
type SuspensionConfiguration interface {
	// IsSuspended reports whether the presence is PresenceSuspended. A component whose PresenceConfiguration returns
	// PresencePaused or PresenceArchived is not suspended.
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

// ask returns what a capability says; the zero value, which means the default, without the capability.
func ask[C, V any](component Component, get func(C) V) V {
	if found, ok := capability[C](component); ok {
		return get(found)
	}
	var none V
	return none
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

// The types in this file are building blocks for specs. The reconciler does not use them. ToUnstructured makes
// parameters of a spec.

// +kubebuilder:object:generate=true

// ImageSpec denotes a container image.
type ImageSpec struct {
	// Repository, including the registry host if there is one.
	Repository string `json:"repository,omitempty"`
	// Tag or digest.
	Tag string `json:"tag,omitempty"`
	// PullPolicy is one of Always, IfNotPresent, Never.
	PullPolicy string `json:"pullPolicy,omitempty"`
	// PullSecret is the name of a Secret in the namespace of the pod.
	PullSecret string `json:"pullSecret,omitempty"`
}

// +kubebuilder:object:generate=true

// KubernetesPodProperties are properties of pods.
type KubernetesPodProperties struct {
	NodeSelector              map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity                  *corev1.Affinity                  `json:"affinity,omitempty"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	Tolerations               []corev1.Toleration               `json:"tolerations,omitempty"`
	PriorityClassName         *string                           `json:"priorityClassName,omitempty"`
	PodSecurityContext        *corev1.PodSecurityContext        `json:"podSecurityContext,omitempty"`
	Labels                    map[string]string                 `json:"podLabels,omitempty"`
	Annotations               map[string]string                 `json:"podAnnotations,omitempty"`
}

// +kubebuilder:object:generate=true

// KubernetesContainerProperties are properties of containers.
type KubernetesContainerProperties struct {
	SecurityContext *corev1.SecurityContext      `json:"securityContext,omitempty"`
	Resources       *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// +kubebuilder:object:generate=true

// KubernetesProperties are properties of pods with one container of interest.
type KubernetesProperties struct {
	KubernetesPodProperties       `json:",inline"`
	KubernetesContainerProperties `json:",inline"`
}

// +kubebuilder:object:generate=true

// ServiceProperties are properties of a Service.
type ServiceProperties struct {
	Type                     corev1.ServiceType                  `json:"type,omitempty"`
	LoadBalancerSourceRanges []string                            `json:"loadBalancerSourceRanges,omitempty"`
	ExternalTrafficPolicy    corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
	Labels                   map[string]string                   `json:"labels,omitempty"`
	Annotations              map[string]string                   `json:"annotations,omitempty"`
}

// +kubebuilder:object:generate=true

// IngressProperties are properties of an Ingress.
type IngressProperties struct {
	Class       string            `json:"class,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ToUnstructured returns a spec as parameters for a generator, such as the values of a chart. It is meant to implement
// types.Unstructurable:
//
//	func (s *ShopSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }
//
// The spec is a pointer to a struct. The result is what the spec is in JSON, with two differences:
//
// Embedded structs of this package that are meant for the reconciler, such as PlacementSpec, are left out.
//
// References that have the tag loadedAs are replaced by what was loaded, under the name that the tag gives. With the
// field
//
//	PasswordSecretRef *component.SecretKeyReference `json:"passwordSecretRef,omitempty" loadedAs:"password"`
//
// the result has the key password, a string, instead of passwordSecretRef, also if another field has that name. The
// content of a reference to all data of an object is a map of strings. Slices and maps of references become lists and
// maps of their content. A reference that is not set adds nothing. With loadedAs:"-", a reference is left out. Without
// the tag, the result has the reference itself: name and key.
//
// Integers are of type int64. ToUnstructured panics if the type of the spec has no JSON form, or has the tag at other
// fields than references to ConfigMaps and Secrets; so any test that calls it shows that.
func ToUnstructured(spec any) map[string]any {
	parameters, err := parametersOf(spec)
	utilruntime.Must(err)
	return parameters
}

const serviceAccountPrefix = "system:serviceaccount:"

// settings has the capabilities of a component, with defaults.
type settings struct {
	// namespace and name are those of the deployment.
	namespace, name string
	presence        Presence
	timing          timing
	policies        reconciler.Policies
	managedTypes    []reconciler.TypeInfo
	maxDeletions    reconciler.MaxDeletions
}

func settingsOf(component Component, options ReconcilerOptions) settings {
	return settings{
		namespace:    cmp.Or(ask(component, PlacementConfiguration.GetDeploymentNamespace), component.GetNamespace()),
		name:         cmp.Or(ask(component, PlacementConfiguration.GetDeploymentName), component.GetName()),
		presence:     presenceOf(component),
		timing:       timingOf(component),
		policies:     policiesOf(component),
		managedTypes: ask(component, TypeConfiguration.GetAdditionalManagedTypes),
		maxDeletions: cmp.Or(ask(component, DeletionConfiguration.GetMaxDeletions), options.MaxDeletions),
	}
}

func presenceOf(component Component) Presence {
	presence := cmp.Or(ask(component, PresenceConfiguration.GetPresence), PresenceActive)
	if presence == PresenceActive && ask(component, SuspensionConfiguration.IsSuspended) {
		return PresenceSuspended
	}
	return presence
}

func timingOf(component Component) timing {
	// Durations that are not positive mean the default.
	requeue := cmp.Or(max(ask(component, RequeueConfiguration.GetRequeueInterval), 0), defaultRequeueInterval)
	requeue = max(requeue, shortestInterval)
	retry := cmp.Or(max(ask(component, RetryConfiguration.GetRetryInterval), 0), min(requeue, defaultRetryInterval))
	timeout := cmp.Or(max(ask(component, TimeoutConfiguration.GetTimeout), 0), requeue)
	return timing{requeue: requeue, retry: max(retry, shortestInterval), timeout: timeout}
}

func policiesOf(component Component) reconciler.Policies {
	return reconciler.Policies{
		Adoption:          ask(component, PolicyConfiguration.GetAdoptionPolicy),
		Update:            ask(component, PolicyConfiguration.GetUpdatePolicy),
		Delete:            ask(component, PolicyConfiguration.GetDeletePolicy),
		MissingNamespaces: ask(component, PolicyConfiguration.GetMissingNamespacesPolicy),
		Reconcile:         ask(component, ReconcileConfiguration.GetReconcilePolicy),
		Drift:             ask(component, DriftConfiguration.GetDriftPolicy),
		ReapplyInterval:   ask(component, ReapplyConfiguration.GetReapplyInterval),
	}
}

// identity returns the identity that writes the dependents. References must be loaded before. A kubeconfig has its own
// user.
func (p *pass) identity() targets.Identity {
	if kubeConfig := ask(p.component, ClientConfiguration.GetKubeConfig); len(kubeConfig) > 0 {
		return targets.Identity{KubeConfig: kubeConfig}
	}
	return p.localIdentity()
}

// localIdentity returns the identity in the component's own cluster, whether dependents are there or not.
func (p *pass) localIdentity() targets.Identity {
	id := targets.Identity{
		User:   ask(p.component, ImpersonationConfiguration.GetImpersonationUser),
		Groups: ask(p.component, ImpersonationConfiguration.GetImpersonationGroups),
	}
	if account := ptr.Deref(p.worker.options.DefaultServiceAccount, ""); id.User == "" && len(id.Groups) == 0 && account != "" {
		id.User = serviceAccountPrefix + ":" + account
	}
	if name, ok := strings.CutPrefix(id.User, serviceAccountPrefix+":"); ok {
		id.User = serviceAccountPrefix + p.key.Namespace + ":" + name
	}
	return id
}

// hasForeignTarget reports whether the component implements ClientConfiguration by code of its own, so that the
// references it needs are not known.
func hasForeignTarget(component Component) bool {
	if _, ok := component.(ClientConfiguration); ok {
		return true
	}
	if _, ok := capability[ClientConfiguration](component); !ok {
		return false
	}
	spec := reflect.Indirect(reflect.ValueOf(specOf(component)))
	if spec.Kind() != reflect.Struct {
		return true
	}
	field, ok := spec.Type().FieldByName("ClientSpec")
	return !ok || field.Type != reflect.TypeFor[ClientSpec]()
}
