// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

// GuestbookSpec is the desired state of a Guestbook.
type GuestbookSpec struct {
	component.PresenceSpec `json:",inline"`

	// Image of the web server.
	Image string `json:"image"`
	// Replicas of the web server.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`
}

// GuestbookStatus is the observed state of a Guestbook.
type GuestbookStatus struct {
	component.Status `json:",inline"`
}

// Guestbook is a website on which visitors leave messages.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type Guestbook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec GuestbookSpec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status GuestbookStatus `json:"status,omitempty"`
}

// GuestbookList is a list of guestbooks.
//
// +kubebuilder:object:root=true
type GuestbookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Guestbook `json:"items"`
}

// These methods make a Guestbook a component.
var _ component.Component = &Guestbook{}

// GetSpec returns the parameters of the generator.
func (g *Guestbook) GetSpec() types.Unstructurable { return &g.Spec }

// GetStatus returns the part of the status that the reconciler writes.
func (g *Guestbook) GetStatus() *component.Status { return &g.Status.Status }

// ToUnstructured returns the parameters of the generator: the spec without the fields for the reconciler.
func (s *GuestbookSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }
