// Package mesh is derived from testdata/mesh.txtar.
// +groupName=mesh.valuetypes.example
// +versionName=v1
package mesh

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "cidrs[]": not checked before the chart is rendered: anyOf, because of format
// Sample:
//
//	id: aa-000

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	MeshValues `json:",inline"`
}

// MeshValues are the values of the chart. What is not set has the chart's default.
type MeshValues struct {
	// +optional
	Cidrs []string `json:"cidrs,omitzero"`

	// +optional
	Fallback *MeshRoute `json:"fallback,omitempty"`

	// Defaults to [].
	// +optional
	// +kubebuilder:validation:MaxItems=10
	Gateways []MeshGateway `json:"gateways,omitzero"`

	// +required
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:Pattern=`^[a-z]{2}-[0-9]{3}$`
	ID string `json:"id"`

	// +optional
	// +kubebuilder:validation:XValidation:rule="!((self == 'forbidden' || self == 'reserved'))",message="must match not of the chart's schema"
	Kind *string `json:"kind,omitempty"`

	// +optional
	Limits *MeshLimits `json:"limits,omitempty"`

	// +optional
	Probe *MeshProbe `json:"probe,omitempty"`

	// +optional
	Routes []MeshRoute `json:"routes,omitzero"`
}

// MeshRoute has the values below fallback.
type MeshRoute struct {
	// +required
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`

	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Weight *int64 `json:"weight,omitempty"`
}

// MeshGateway has the values below gateways.
// +kubebuilder:validation:XValidation:rule="(has(self.http) ? 1 : 0) + (has(self.tcp) ? 1 : 0) == 1",message="must match oneOf of the chart's schema"
type MeshGateway struct {
	// +optional
	HTTP *MeshHTTP `json:"http,omitempty"`

	// +required
	Name string `json:"name"`

	// +optional
	TCP *MeshTCP `json:"tcp,omitempty"`
}

// MeshHTTP has the values below gateways[].http.
type MeshHTTP struct {
	// +required
	Path string `json:"path"`

	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int64 `json:"port,omitempty"`
}

// MeshTCP has the values below gateways[].tcp.
type MeshTCP struct {
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int64 `json:"port"`
}

// MeshLimits has the values below limits.
// +kubebuilder:validation:MaxProperties=2
// +kubebuilder:validation:XValidation:rule="!((has(self.low) && has(self.burst)))",message="must match not of the chart's schema"
type MeshLimits struct {
	// +optional
	Burst *int64 `json:"burst,omitempty"`

	// +optional
	High *int64 `json:"high,omitempty"`

	// +optional
	Low *int64 `json:"low,omitempty"`
}

// MeshProbe has the values below probe.
// +kubebuilder:validation:XValidation:rule="((has(self.path) && (!has(self.port) || (self.port >= 1 && self.port <= 65535))) || (has(self.port) && (!has(self.port) || (self.port >= 1 && self.port <= 65535)) && !has(self.path)))",message="must match anyOf of the chart's schema"
type MeshProbe struct {
	// +optional
	Path *string `json:"path,omitempty"`

	// +optional
	Port *int64 `json:"port,omitempty"`
}
