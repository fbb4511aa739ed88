// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package v1 has the component that code on the pages of the documentation is about.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

// Shop is a component.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShopSpec         `json:"spec,omitempty"`
	Status component.Status `json:"status,omitempty"`
}

// ShopSpec is its spec.
type ShopSpec struct {
	Size              int32                         `json:"size,omitempty"`
	PasswordSecretRef *component.SecretKeyReference `json:"passwordSecretRef,omitempty" loadedAs:"password"`
}

var _ component.Component = &Shop{}

// GetSpec returns the parameters of the generator.
func (s *Shop) GetSpec() types.Unstructurable { return &s.Spec }

// GetStatus returns what the reconciler writes.
func (s *Shop) GetStatus() *component.Status { return &s.Status }

// ToUnstructured returns the parameters.
func (s *ShopSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }

// DeepCopyObject returns a copy.
func (s *Shop) DeepCopyObject() runtime.Object {
	result := *s
	result.ObjectMeta = *s.ObjectMeta.DeepCopy()
	result.Spec.PasswordSecretRef = s.Spec.PasswordSecretRef.DeepCopy()
	result.Status = *s.Status.DeepCopy()
	return &result
}
