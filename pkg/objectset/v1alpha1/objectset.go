// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/probes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// ObjectSetSpec is the desired state of an ObjectSet.
type ObjectSetSpec struct {
	SetSpec `json:",inline"`
	// ServiceAccountName is the name of a ServiceAccount in the namespace of the set. Objects are read and written with
	// its permissions. Without it, they are with those of the operator, and must be in the namespace of the set.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceAccountName cannot be changed; create another set"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// ObjectSet has objects in phases. Without a service account, they are all in the namespace of the set.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=oset,categories=components
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name=Lifecycle,type=string,JSONPath=`.spec.lifecycleState`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name=Succeeded,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Available")].message`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ObjectSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ObjectSetSpec `json:"spec"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status SetStatus `json:"status,omitempty"`
}

// ObjectSetList is a list of ObjectSets.
//
// +kubebuilder:object:root=true
type ObjectSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ObjectSet `json:"items"`
}

// ClusterObjectSetSpec is the desired state of a ClusterObjectSet.
type ClusterObjectSetSpec struct {
	SetSpec `json:",inline"`
}

// ClusterObjectSet has objects in phases, in any namespace or none. A namespaced object must name its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=coset,categories=components
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name=Lifecycle,type=string,JSONPath=`.spec.lifecycleState`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name=Succeeded,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Available")].message`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterObjectSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterObjectSetSpec `json:"spec"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status SetStatus `json:"status,omitempty"`
}

// ClusterObjectSetList is a list of ClusterObjectSets.
//
// +kubebuilder:object:root=true
type ClusterObjectSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterObjectSet `json:"items"`
}

// Set is an ObjectSet or a ClusterObjectSet.
//
// +kubebuilder:object:generate=false
type Set interface {
	component.Component
	// GetSetSpec returns a pointer to what the specs of both kinds have in common.
	GetSetSpec() *SetSpec
	// GetSetStatus returns a pointer to the status.
	GetSetStatus() *SetStatus
}

var (
	_ Set                                  = &ObjectSet{}
	_ Set                                  = &ClusterObjectSet{}
	_ component.PresenceConfiguration      = &SetSpec{}
	_ component.TimeoutConfiguration       = &SetSpec{}
	_ component.JudgeConfiguration         = &SetSpec{}
	_ component.PolicyConfiguration        = &SetSpec{}
	_ component.ImpersonationConfiguration = &ObjectSetSpec{}
)

// GetSpec returns the spec.
func (s *ObjectSet) GetSpec() types.Unstructurable { return &s.Spec }

// GetStatus returns what the reconciler records.
func (s *ObjectSet) GetStatus() *component.Status { return &s.Status.Status }

// GetSetSpec returns a pointer to the spec, without what only ObjectSets have.
func (s *ObjectSet) GetSetSpec() *SetSpec { return &s.Spec.SetSpec }

// GetSetStatus returns a pointer to the status.
func (s *ObjectSet) GetSetStatus() *SetStatus { return &s.Status }

// GetSpec returns the spec.
func (s *ClusterObjectSet) GetSpec() types.Unstructurable { return &s.Spec }

// GetStatus returns what the reconciler records.
func (s *ClusterObjectSet) GetStatus() *component.Status { return &s.Status.Status }

// GetSetSpec returns a pointer to the spec.
func (s *ClusterObjectSet) GetSetSpec() *SetSpec { return &s.Spec.SetSpec }

// GetSetStatus returns a pointer to the status.
func (s *ClusterObjectSet) GetSetStatus() *SetStatus { return &s.Status }

// GetImpersonationUser implements component.ImpersonationConfiguration.
func (s *ObjectSetSpec) GetImpersonationUser() string {
	return (&component.ImpersonationSpec{ServiceAccountName: s.ServiceAccountName}).GetImpersonationUser()
}

// GetImpersonationGroups implements component.ImpersonationConfiguration.
func (s *ObjectSetSpec) GetImpersonationGroups() []string { return nil }

// ToUnstructured returns the spec as JSON has it.
func (s *ObjectSetSpec) ToUnstructured() map[string]any { return unstructured(s) }

// ToUnstructured returns the spec as JSON has it.
func (s *ClusterObjectSetSpec) ToUnstructured() map[string]any { return unstructured(s) }

// unstructured converts a spec. One that cannot be converted, because an object is no JSON, is refused when its objects
// are read.
func unstructured(spec any) map[string]any {
	converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return map[string]any{"invalid": err.Error()}
	}
	return converted
}

// GetPresence implements component.PresenceConfiguration.
func (s *SetSpec) GetPresence() component.Presence {
	if s.LifecycleState == "" {
		return component.PresenceActive
	}
	return component.Presence(s.LifecycleState)
}

// GetTimeout implements component.TimeoutConfiguration.
func (s *SetSpec) GetTimeout() time.Duration {
	return time.Duration(s.ProgressDeadlineSeconds) * time.Second
}

// GetJudge implements component.JudgeConfiguration: objects are judged by the probes alone.
func (s *SetSpec) GetJudge() (status.Judge, error) {
	judge, err := probes.New(s.AvailabilityProbes, nil)
	if err != nil {
		if field, ok := strings.CutPrefix(err.Error(), "probes["); ok {
			return nil, errors.New("spec.availabilityProbes[" + field)
		}
		return nil, err
	}
	return judge, nil
}

// GetAdoptionPolicy implements component.PolicyConfiguration.
func (s *SetSpec) GetAdoptionPolicy() reconciler.AdoptionPolicy {
	return s.CollisionProtection.AdoptionPolicy()
}

// GetUpdatePolicy implements component.PolicyConfiguration: fields that the set does not declare belong to others.
func (s *SetSpec) GetUpdatePolicy() reconciler.UpdatePolicy { return reconciler.UpdatePolicySsaMerge }

// GetDeletePolicy implements component.PolicyConfiguration.
func (s *SetSpec) GetDeletePolicy() reconciler.DeletePolicy { return "" }

// GetMissingNamespacesPolicy implements component.PolicyConfiguration: a namespace that is missing is not created.
func (s *SetSpec) GetMissingNamespacesPolicy() reconciler.MissingNamespacesPolicy {
	return reconciler.MissingNamespacesPolicyDoNotCreate
}

// AdoptionPolicy returns the policy in the terms of the runtime. The zero value is Prevent.
func (p CollisionProtection) AdoptionPolicy() reconciler.AdoptionPolicy {
	switch p {
	case CollisionProtectionIfNoController:
		return reconciler.AdoptionPolicyIfUnowned
	case CollisionProtectionNone:
		return reconciler.AdoptionPolicyAlways
	case CollisionProtectionPrevent:
	}
	return reconciler.AdoptionPolicyNever
}
