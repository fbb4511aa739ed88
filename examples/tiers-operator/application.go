// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

// Application is an application with three tiers.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ApplicationSpec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status component.Status `json:"status,omitempty"`
}

// ApplicationSpec is the desired state of an Application.
type ApplicationSpec struct {
	component.PresenceSpec `json:",inline"`

	// Version is the version of the application, which is that of its schema as well.
	Version string `json:"version"`
	// Host is the name under which the application is reachable.
	Host string `json:"host"`
	// Storage is the size of the database. StorageClassName is where it is stored; empty for volumes without a class.
	Storage          resource.Quantity `json:"storage"`
	StorageClassName string            `json:"storageClassName,omitempty"`
	// MaxReplicas is the largest number of web servers.
	// +kubebuilder:default=4
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
	// NodeSelector says on which nodes the web servers run.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// ApplicationList is a list of applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Application `json:"items"`
}

var groupVersion = schema.GroupVersion{Group: "tiers.example.io", Version: "v1"}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Application{}, &ApplicationList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

// GetSpec returns the parameters for the generator.
func (a *Application) GetSpec() types.Unstructurable { return &a.Spec }

// GetStatus returns the part of the application that the reconciler writes.
func (a *Application) GetStatus() *component.Status { return &a.Status }

// ToUnstructured returns the parameters of the generator.
func (s *ApplicationSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }
