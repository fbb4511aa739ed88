// Package freeform is derived from testdata/freeform.txtar.
// +groupName=freeform.valuetypes.example
// +versionName=v1
package freeform

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	intstr "k8s.io/apimachinery/pkg/util/intstr"
)

// "": objects that do not forbid further fields have only those that the schema or values.yaml names
// "annotations": the names of fields are not checked
// "anything": the schema has no type for it
// "command": the schema allows several types
// "config": an object with fields of its own and further ones
// "extra[]": the schema does not describe the elements
// "keyed": not checked before the chart is rendered: propertyNames
// "list": the schema has no type for it; its keywords are those of a list
// "optional[]": null among elements
// "pods": not checked before the chart is rendered: contains
// "ports[]": an integer or a string, in a list or map without bounds
// "scalar": the schema allows several types
// "weights[]": an integer or a string, as the value of a map
// "yes": the schema has no type for it
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
	FreeformValues `json:",inline"`
}

// FreeformValues are the values of the chart. What is not set has the chart's default.
type FreeformValues struct {
	// +optional
	Annotations map[string]string `json:"annotations,omitzero"`

	// +optional
	Anything *apiextensionsv1.JSON `json:"anything,omitempty"`

	// +optional
	Command *apiextensionsv1.JSON `json:"command,omitempty"`

	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config map[string]apiextensionsv1.JSON `json:"config,omitzero"`

	// +optional
	Extra []apiextensionsv1.JSON `json:"extra,omitzero"`

	// +optional
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:XValidation:rule="type(self) != int || (self >= -2147483648 && self <= 2147483647)",message="must be an integer of 32 bits, or a string"
	// +kubebuilder:validation:items:XValidation:rule="(type(self) != int || self >= 1)",message="the integer is out of bounds"
	Few []intstr.IntOrString `json:"few,omitzero"`

	// +optional
	// +kubebuilder:validation:MaxItems=3
	Fewer []FreeformFewerItem `json:"fewer,omitzero"`

	// +optional
	Keyed map[string]bool `json:"keyed,omitzero"`

	// +optional
	List []string `json:"list,omitzero"`

	// +optional
	// +nullable
	Maybe *FreeformMaybe `json:"maybe,omitempty"`

	// +optional
	Open *FreeformOpen `json:"open,omitempty"`

	// +optional
	Optional []apiextensionsv1.JSON `json:"optional,omitzero"`

	// +optional
	Pods []string `json:"pods,omitzero"`

	// +optional
	Ports []apiextensionsv1.JSON `json:"ports,omitzero"`

	// +optional
	Scalar *apiextensionsv1.JSON `json:"scalar,omitempty"`

	// +optional
	Sealed *FreeformSealed `json:"sealed,omitempty"`

	// +optional
	// +kubebuilder:validation:MaxProperties=3
	Weights map[string]apiextensionsv1.JSON `json:"weights,omitzero"`

	// +optional
	Yes *apiextensionsv1.JSON `json:"yes,omitempty"`
}

// FreeformFewerItem is a value in fewer.
// +kubebuilder:validation:MaxItems=2
// +kubebuilder:validation:items:XValidation:rule="type(self) != int || (self >= -2147483648 && self <= 2147483647)",message="must be an integer of 32 bits, or a string"
type FreeformFewerItem []intstr.IntOrString

// FreeformMaybe has the values below maybe.
type FreeformMaybe struct {
	// +optional
	X *int64 `json:"x,omitempty"`
}

// FreeformOpen has the values below open.
type FreeformOpen struct {
	// +optional
	A *string `json:"a,omitempty"`
}

// FreeformSealed has the values below sealed.
type FreeformSealed struct {
}
