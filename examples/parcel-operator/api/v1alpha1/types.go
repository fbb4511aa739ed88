// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/component"
)

// ParcelServiceSpec is the desired state of a parcel service. The embedded types belong to the runtime: where to
// deploy, as which user, and the intervals and timeout of the reconciler. The other fields are the values of the chart.
type ParcelServiceSpec struct {
	component.PlacementSpec     `json:",inline"`
	component.ImpersonationSpec `json:",inline"`
	component.PresenceSpec      `json:",inline"`
	component.RequeueSpec       `json:",inline"`
	component.RetrySpec         `json:",inline"`
	component.TimeoutSpec       `json:",inline"`
	component.ReapplySpec       `json:",inline"`
	component.PolicySpec        `json:",inline"`
	component.DependencySpec    `json:",inline"`

	// Region is where parcels are delivered; it is part of the API's settings.
	// +kubebuilder:validation:MinLength=1
	Region string `json:"region"`

	// Host is the external host name of the API. Without it, there is no Ingress.
	// +optional
	Host string `json:"host,omitempty"`

	// API is the service that customers use.
	// +optional
	API WorkloadSpec `json:"api,omitempty"`

	// Database stores the parcels.
	// +optional
	Database DatabaseSpec `json:"database,omitempty"`

	// Routes are the delivery routes of the service; users may create further routes.
	// +optional
	// +listType=map
	// +listMapKey=name
	Routes []RouteSpec `json:"routes,omitempty"`
}

// WorkloadSpec configures the pods of a part of the service.
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

// DatabaseSpec configures the database.
type DatabaseSpec struct {
	// PasswordSecretRef names the Secret with the password of the database. If that Secret changes, the component is
	// reconciled. Without it, the chart uses an example password.
	// +optional
	PasswordSecretRef *component.SecretKeyReference `json:"passwordSecretRef,omitempty" fallbackKeys:"password" loadedAs:"password"`
}

// RouteSpec describes a delivery route.
type RouteSpec struct {
	// Name is the name of the route.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Stops are the stops of the route, in order.
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
