// Package merging is derived from testdata/merging.txtar.
// +groupName=merging.valuetypes.example
// +versionName=v1
package merging

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "": not checked before the chart is rendered: minProperties
// "": objects that do not forbid further fields have only those that the schema or values.yaml names
// "mode.complex": the schema does not name the fields of this object
// "mode.simple": the schema does not name the fields of this object
// "quota": not checked before the chart is rendered: minProperties
// "servers": required fields are not checked, since values.yaml may have them
// Sample:
//
//	host: value
//	nested:
//	  inner:
//	    name: aaa
//	scheme: http

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	MergingValues `json:",inline"`
}

// MergingValues are the values of the chart. What is not set has the chart's default.
type MergingValues struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host"`

	// Defaults to ["a","b"].
	// +optional
	List []string `json:"list,omitzero"`

	// +optional
	Mode *MergingMode `json:"mode,omitempty"`

	// +required
	Nested MergingNested `json:"nested"`

	// Defaults to 80.
	// +optional
	Port *int64 `json:"port,omitempty"`

	// Defaults to {"a":1,"b":2}.
	// +optional
	Quota map[string]int64 `json:"quota,omitzero"`

	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=0
	Retries *int64 `json:"retries,omitempty"`

	// +required
	// +kubebuilder:validation:Enum={"http","https"}
	Scheme string `json:"scheme"`

	// Defaults to {"main":{"address":"192.0.2.1","weight":1}}.
	// +optional
	Servers map[string]MergingServer `json:"servers,omitzero"`

	// +optional
	// +nullable
	// +kubebuilder:validation:XValidation:rule="self == 'a' || self == 'b'",message="must be one of \"a\", \"b\""
	Step *string `json:"step,omitempty"`

	// Defaults to 30.
	// +optional
	Timeout *int64 `json:"timeout,omitempty"`
}

// MergingMode has the values below mode.
// +kubebuilder:validation:XValidation:rule="(has(self.complex) ? 1 : 0) + 1 == 1",message="must match oneOf of the chart's schema"
type MergingMode struct {
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Complex map[string]apiextensionsv1.JSON `json:"complex,omitzero"`

	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Simple map[string]apiextensionsv1.JSON `json:"simple,omitzero"`
}

// MergingNested has the values below nested.
type MergingNested struct {
	// +required
	Inner MergingNestedInner `json:"inner"`
}

// MergingNestedInner has the values below nested.inner.
type MergingNestedInner struct {
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z]{3}$`
	Name string `json:"name"`
}

// MergingServer has the values below servers.
type MergingServer struct {
	// +optional
	Address *string `json:"address,omitempty"`

	// +optional
	Weight *int64 `json:"weight,omitempty"`
}
