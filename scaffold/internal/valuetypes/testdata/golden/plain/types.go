// Package plain is derived from testdata/plain.txtar.
// +groupName=plain.valuetypes.example
// +versionName=v1
package plain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Sample:
//
//	{}

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	PlainValues `json:",inline"`
}

// PlainValues are the values of the chart. What is not set has the chart's default.
type PlainValues struct {
	// How often it greets, for example. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count *int64 `json:"count,omitempty"`

	// Everything else. Defaults to false.
	// +optional
	Loud *bool `json:"loud,omitempty"`

	// Name. Defaults to "world".
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Name *string `json:"name,omitempty"`
}
