// Package template is derived from testdata/template.txtar.
// +groupName=template.valuetypes.example
// +versionName=v1
package template

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
	TemplateValues `json:",inline"`
}

// TemplateValues are the values of the chart. What is not set has the chart's default.
type TemplateValues struct {
	// Defaults to 1.
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}
