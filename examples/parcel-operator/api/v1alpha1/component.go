// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

var _ component.Component = &ParcelService{}

// GetSpec returns the values for the chart.
func (s *ParcelService) GetSpec() types.Unstructurable {
	return &s.Spec
}

// GetStatus returns the part of the component that the reconciler writes.
func (s *ParcelService) GetStatus() *component.Status {
	return &s.Status
}

// ToUnstructured returns the values of the chart: the spec without the fields for the reconciler.
func (s *ParcelServiceSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }
