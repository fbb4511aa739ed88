// Package webshop is derived from testdata/webshop.txtar.
// +groupName=webshop.valuetypes.example
// +versionName=v1
package webshop

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "web.resources": the schema does not name the fields of this object
// Sample:
//
//	region: north

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	WebshopValues `json:",inline"`
}

// WebshopValues are the values of the chart. What is not set has the chart's default.
type WebshopValues struct {
	// +optional
	Ingress *WebshopIngress `json:"ingress,omitempty"`

	// Where the shop is.
	// +required
	// +kubebuilder:validation:Enum={"north","south"}
	Region string `json:"region"`

	// Seconds after which requests fail. Defaults to 30.
	// +optional
	Timeout *int64 `json:"timeout,omitempty"`

	// +optional
	Web *WebshopWeb `json:"web,omitempty"`
}

// WebshopIngress has the values below ingress.
type WebshopIngress struct {
	// +optional
	Annotations map[string]string `json:"annotations,omitzero"`

	// Defaults to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Defaults to "".
	// +optional
	Host *string `json:"host,omitempty"`
}

// WebshopWeb has the values below web.
type WebshopWeb struct {
	// Defaults to "nginx:stable".
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-z0-9./:-]+$`
	Image *string `json:"image,omitempty"`

	// Number of pods. Defaults to 2.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int64 `json:"replicas,omitempty"`

	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Resources map[string]apiextensionsv1.JSON `json:"resources,omitzero"`
}
