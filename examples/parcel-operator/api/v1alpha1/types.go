// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/component"
)

// ParcelServiceSpec says what a parcel service looks like. The embedded parts come with the runtime and say where it
// is deployed, as whom, and how patient the reconciler is; the fields are what the chart takes as values.
type ParcelServiceSpec struct {
	component.PlacementSpec     `json:",inline"`
	component.ImpersonationSpec `json:",inline"`
	component.SuspensionSpec    `json:",inline"`
	component.RequeueSpec       `json:",inline"`
	component.RetrySpec         `json:",inline"`
	component.TimeoutSpec       `json:",inline"`
	component.ReapplySpec       `json:",inline"`
	component.PolicySpec        `json:",inline"`

	// Region is where parcels are delivered; it is part of the API's settings.
	// +kubebuilder:validation:MinLength=1
	Region string `json:"region"`

	// Host is the name under which the API is reached from outside. Without it there is no Ingress.
	// +optional
	Host string `json:"host,omitempty"`

	// API is the service that customers talk to.
	// +optional
	API WorkloadSpec `json:"api,omitempty"`

	// Database is where parcels are remembered.
	// +optional
	Database DatabaseSpec `json:"database,omitempty"`

	// Routes are the delivery routes that come with the service; users may add routes of their own.
	// +optional
	// +listType=map
	// +listMapKey=name
	Routes []RouteSpec `json:"routes,omitempty"`
}

// WorkloadSpec is what can be said about the pods of a part of the service.
type WorkloadSpec struct {
	// Replicas is the number of pods.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas,omitempty"`

	// Image replaces the image of the chart.
	// +optional
	Image component.ImageSpec `json:"image,omitempty"`
}

// DatabaseSpec is what can be said about the database.
type DatabaseSpec struct {
	// PasswordSecretRef names the Secret with the password of the database. A change of that Secret changes
	// the component. Without it the chart's example password is used.
	// +optional
	PasswordSecretRef *component.SecretKeyReference `json:"passwordSecretRef,omitempty" fallbackKeys:"password"`
}

// RouteSpec describes a delivery route.
type RouteSpec struct {
	// Name is the name of the route.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Stops are the places that the route goes through.
	// +kubebuilder:validation:MinItems=1
	Stops []string `json:"stops"`
}

// ParcelService is a parcel service: an API, its database, and a controller for delivery routes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=components
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ParcelService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ParcelServiceSpec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status component.Status `json:"status,omitempty"`
}

// ParcelServiceList is a list of parcel services.
//
// +kubebuilder:object:root=true
type ParcelServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ParcelService `json:"items"`
}
