// Package parcel is derived from testdata/parcel.txtar.
// +groupName=parcel.valuetypes.example
// +versionName=v1
package parcel

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "": objects that do not forbid further fields have only those that the schema or values.yaml names
// "global": any chart may take any global value
// Sample:
//
//	region: value

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	ParcelValues `json:",inline"`
}

// ParcelValues are the values of the chart. What is not set has the chart's default.
type ParcelValues struct {
	// +optional
	API *ParcelAPI `json:"api,omitempty"`

	// +optional
	Controller *ParcelController `json:"controller,omitempty"`

	// Values of the subchart.
	// +optional
	Database *ParcelDatabase `json:"database,omitempty"`

	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Global map[string]apiextensionsv1.JSON `json:"global,omitzero"`

	// The name under which the API is reached from outside; without it there is no Ingress.
	// Defaults to "".
	// +optional
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	Host *string `json:"host,omitempty"`

	// Where parcels are delivered.
	// +required
	// +kubebuilder:validation:MinLength=1
	Region string `json:"region"`

	// Delivery routes that come with the service: [{name: ..., stops: [...]}]. Defaults to [].
	// +optional
	Routes []ParcelRoute `json:"routes,omitzero"`
}

// ParcelAPI has the values below api.
type ParcelAPI struct {
	// +optional
	Image *ParcelImage `json:"image,omitempty"`

	// Defaults to 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Replicas *int64 `json:"replicas,omitempty"`
}

// ParcelImage has the values below api.image.
type ParcelImage struct {
	// Defaults to "IfNotPresent".
	// +optional
	// +kubebuilder:validation:Enum={"","Always","IfNotPresent","Never"}
	PullPolicy *string `json:"pullPolicy,omitempty"`

	// Defaults to "".
	// +optional
	PullSecret *string `json:"pullSecret,omitempty"`

	// +optional
	// +kubebuilder:validation:MinLength=1
	Repository *string `json:"repository,omitempty"`

	// Defaults to "".
	// +optional
	Tag *string `json:"tag,omitempty"`
}

// ParcelController has the values below controller.
type ParcelController struct {
	// +optional
	Image *ParcelImage `json:"image,omitempty"`
}

// ParcelDatabase has the values below database.
//
// Values of the subchart.
type ParcelDatabase struct {
	// Defaults to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// +optional
	Image *ParcelDatabaseImage `json:"image,omitempty"`

	// Defaults to "change-me".
	// +optional
	Password *string `json:"password,omitempty"`

	// Defaults to 5432.
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// ParcelDatabaseImage has the values below database.image.
type ParcelDatabaseImage struct {
	// Defaults to "registry.example.io/parcel/database".
	// +optional
	Repository *string `json:"repository,omitempty"`
}

// ParcelRoute has the values below routes.
type ParcelRoute struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// +required
	// +kubebuilder:validation:MinItems=1
	Stops []string `json:"stops,omitzero"`
}
