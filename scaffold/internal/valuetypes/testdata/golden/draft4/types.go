// Package draft4 is derived from testdata/draft4.txtar.
// +groupName=draft4.valuetypes.example
// +versionName=v1
package draft4

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	intstr "k8s.io/apimachinery/pkg/util/intstr"
)

// "": objects that do not forbid further fields have only those that the schema or values.yaml names
// "expression": not checked before the chart is rendered: the format json-pointer
// "name": not checked before the chart is rendered: the pattern ^(?!admin).*$, which Go's regular expressions do not have
// "pair[]": each element has a type of its own
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
	Draft4Values `json:",inline"`
}

// Draft4Values are the values of the chart. What is not set has the chart's default.
// +kubebuilder:validation:XValidation:rule="((!has(self.group) || has(self.name)) && (!has(self.user) || has(self.group)))",message="must match dependencies of the chart's schema"
type Draft4Values struct {
	// +optional
	// +kubebuilder:validation:Format="ipv4"
	Address *string `json:"address,omitempty"`

	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^[A-Z]+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('Z$')",message="must match Z$"
	Code *string `json:"code,omitempty"`

	// +optional
	// +kubebuilder:validation:Minimum=1
	Count *int64 `json:"count,omitempty"`

	// +optional
	Endpoints map[string]Draft4Endpoint `json:"endpoints,omitzero"`

	// +optional
	Expression *string `json:"expression,omitempty"`

	// +optional
	// +kubebuilder:validation:XValidation:rule="self == true",message="must be one of true"
	Flag *bool `json:"flag,omitempty"`

	// +optional
	Group *string `json:"group,omitempty"`

	// +optional
	Groups map[string][]string `json:"groups,omitzero"`

	// +optional
	// +kubebuilder:validation:Format="email"
	Mail *string `json:"mail,omitempty"`

	// +optional
	Matrix []Draft4MatrixItem `json:"matrix,omitzero"`

	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 'auto' || self == 1 || self == 2",message="must be one of \"auto\", 1, 2"
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= -2147483648 && self <= 2147483647)",message="must be an integer of 32 bits, or a string"
	Mixed *intstr.IntOrString `json:"mixed,omitempty"`

	// +optional
	Name *string `json:"name,omitempty"`

	// +optional
	// +listType=set
	Numbers []int64 `json:"numbers,omitzero"`

	// +optional
	Pair []apiextensionsv1.JSON `json:"pair,omitzero"`

	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=2
	Quotas map[string]Draft4Quota `json:"quotas,omitzero"`

	// +optional
	// +kubebuilder:validation:Format="uri"
	Site *string `json:"site,omitempty"`

	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 0.5 || self == 1.0 || self == 1.5",message="must be one of 0.5, 1, 1.5"
	Steps *float64 `json:"steps,omitempty"`

	// Defaults to 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:validation:ExclusiveMaximum=true
	Threshold *float64 `json:"threshold,omitempty"`

	// +optional
	User *string `json:"user,omitempty"`

	// +optional
	// +kubebuilder:validation:Format="date-time"
	When *string `json:"when,omitempty"`
}

// Draft4Endpoint has the values below endpoints.
type Draft4Endpoint struct {
	// +required
	URL string `json:"url"`

	// +optional
	Weight *int64 `json:"weight,omitempty"`
}

// Draft4MatrixItem is a value in matrix.
// +kubebuilder:validation:MinItems=2
type Draft4MatrixItem []Draft4MatrixItemItem

// Draft4MatrixItemItem is a value in matrix[].
// +kubebuilder:validation:Minimum=0
type Draft4MatrixItemItem float64

// Draft4Quota is a value in quotas.
// +kubebuilder:validation:Minimum=1
type Draft4Quota int64
