// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Probe has checks for the objects that it selects.
type Probe struct {
	// Selector selects objects as they are in the cluster. Defaults to all objects.
	Selector Selector `json:"selector,omitzero"`
	// Checks must all be true. At least one; at most 256 in all probes together.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Checks []Check `json:"probes"`
}

// Selector selects objects by both its fields.
type Selector struct {
	// Kind is the group and kind of the objects, in whatever version. Defaults to all.
	Kind *Kind `json:"kind,omitempty"`
	// Labels select objects by their labels. Defaults to all.
	Labels *metav1.LabelSelector `json:"selector,omitempty"`
}

// Kind is a group and kind.
type Kind struct {
	// Group is empty for the core group.
	Group string `json:"group"`
	// Kind is required.
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
}

// Check is one check of an object. Exactly one field must be set.
//
// The answer of a check is true, false or unknown. It is unknown for all checks if the object has a
// status.observedGeneration that is not its generation.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Check struct {
	// Condition checks a condition in status.conditions.
	Condition *Condition `json:"condition,omitempty"`
	// FieldsEqual compares two fields.
	FieldsEqual *FieldsEqual `json:"fieldsEqual,omitempty"`
	// FieldValue compares a field with a value.
	FieldValue *FieldValue `json:"fieldValue,omitempty"`
	// CEL evaluates an expression.
	CEL *CEL `json:"cel,omitempty"`
}

// Condition is true if the condition has the status. It is unknown if the condition does not exist, or was computed for
// another generation.
type Condition struct {
	// Type is that of the condition. Required.
	// +kubebuilder:validation:MinLength=1
	Type string `json:"type"`
	// Status is True, False or Unknown. Defaults to True.
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status metav1.ConditionStatus `json:"status,omitempty"`
}

// FieldsEqual is true if both fields have the same value, or if neither exists. It is false if only one exists.
//
// The fields are JSON paths of one field each: .status.replicas, .spec.containers[0].image,
// .metadata.annotations['example.io/revision'], or with backslashes, .metadata.annotations.example\.io/revision. Braces
// are optional. Wildcards, filters and the like are not allowed; use cel for these.
type FieldsEqual struct {
	// FieldA is one field. Required.
	// +kubebuilder:validation:Pattern=`^\{?\..*[^.].*$`
	// +kubebuilder:validation:MaxLength=512
	FieldA string `json:"fieldA"`
	// FieldB is the other one. Required.
	// +kubebuilder:validation:Pattern=`^\{?\..*[^.].*$`
	// +kubebuilder:validation:MaxLength=512
	FieldB string `json:"fieldB"`
}

// FieldValue is true if the field has the value, and unknown if the field does not exist.
type FieldValue struct {
	// Field is a JSON path; see FieldsEqual. Required.
	// +kubebuilder:validation:Pattern=`^\{?\..*[^.].*$`
	// +kubebuilder:validation:MaxLength=512
	Field string `json:"field"`
	// Value is the JSON of the value: "text" in quotes, 3, true, [1, 2]. Required.
	Value apiextensionsv1.JSON `json:"value"`
}

// CEL is true if the expression is. It is unknown if it cannot be evaluated, for example because a field does not
// exist.
type CEL struct {
	// Rule is an expression over the object, self, that is true or false. Required.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Rule string `json:"rule"`
	// Message says what is wrong if the expression is false. Defaults to the expression.
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}
