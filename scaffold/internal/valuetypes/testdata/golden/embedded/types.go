// Package embedded is derived from testdata/embedded.txtar.
// +groupName=embedded.valuetypes.example
// +versionName=v1
package embedded

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
	EmbeddedValues `json:",inline"`
}

// EmbeddedValues are the values of the chart. What is not set has the chart's default.
type EmbeddedValues struct {
	// Defaults to 1.
	// +optional
	Size *int64 `json:"size,omitempty"`
}
