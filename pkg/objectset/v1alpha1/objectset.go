// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
