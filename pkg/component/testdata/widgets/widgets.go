// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package widgets declares the components of the tests of package component, so that their definitions are generated ones
// and refuse what those of an operator refuse. The tests cannot import it: they have the same types once more.
//
// +groupName=component-test.example.io
// +versionName=v1
package widgets

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/probes"
)

// Spec has all capabilities.
type Spec struct {
	component.PlacementSpec     `json:",inline"`
	component.ClientSpec        `json:",inline"`
	component.ImpersonationSpec `json:",inline"`
	component.SuspensionSpec    `json:",inline"`
	component.PresenceSpec      `json:",inline"`
	component.RequeueSpec       `json:",inline"`
	component.RetrySpec         `json:",inline"`
	component.TimeoutSpec       `json:",inline"`
	component.PolicySpec        `json:",inline"`
	component.ReconcileSpec     `json:",inline"`
	component.DriftSpec         `json:",inline"`
	component.TypeSpec          `json:",inline"`
	component.ReapplySpec       `json:",inline"`
	component.DeletionSpec      `json:",inline"`
	component.DependencySpec    `json:",inline"`

	// Probes are those of the judge; none for the default one.
	Probes []probes.Probe `json:"probes,omitempty"`
	// Objects are the dependents.
	// +kubebuilder:pruning:PreserveUnknownFields
	Objects []runtime.RawExtension `json:"objects,omitempty"`
	// Password is handed to dependents by a transformer.
	Password *component.SecretKeyReference `json:"password,omitempty"`
	// Banner may be gone when the widget is deleted.
	Banner *component.ConfigMapReference `json:"banner,omitempty"`
	// Endpoint is a value of another object.
	Endpoint *component.ValueReference `json:"endpoint,omitempty"`
}

// Status has a field of its own.
type Status struct {
	component.Status `json:",inline"`
	Extra            string `json:"extra,omitempty"`
}

// Widget is a component.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status Status `json:"status,omitempty"`
}

// GlobalWidget is a component without a namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
type GlobalWidget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status Status `json:"status,omitempty"`
}
