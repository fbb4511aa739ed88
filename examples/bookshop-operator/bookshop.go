// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

// Bookshop is a shop that is reachable from outside.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type Bookshop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BookshopSpec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status component.Status `json:"status,omitempty"`
}

// BookshopSpec is the desired state of a Bookshop.
type BookshopSpec struct {
	component.PresenceSpec `json:",inline"`

	// Version is the version of the shop, such as 2.0.0.
	Version string `json:"version"`
	// Replicas is the number of web servers.
	// +kubebuilder:default=2
	Replicas int32 `json:"replicas,omitempty"`
	// Cache runs a cache beside each web server.
	Cache bool `json:"cache,omitempty"`
	// Tracing is the address to which traces are sent; empty for none.
	Tracing string `json:"tracing,omitempty"`
}

// BookshopList is a list of bookshops.
//
// +kubebuilder:object:root=true
type BookshopList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Bookshop `json:"items"`
}

var groupVersion = schema.GroupVersion{Group: "bookshop.example.io", Version: "v1"}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Bookshop{}, &BookshopList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

// GetSpec returns the parameters for the generator.
func (b *Bookshop) GetSpec() types.Unstructurable { return &b.Spec }

// GetStatus returns the part of the bookshop that the reconciler writes.
func (b *Bookshop) GetStatus() *component.Status { return &b.Status }

// ToUnstructured returns the parameters of the generator.
func (s *BookshopSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }
