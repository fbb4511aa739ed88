// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/component"
)

// ObjectSetSpec is the desired state of an ObjectSet.
type ObjectSetSpec struct {
	SetSpec `json:",inline"`
	// The service account, in the namespace of the set, that reads and writes the objects. Without it, the operator does, and all objects must be in the namespace of the set.
	component.ImpersonationSpec `json:",inline"`
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
