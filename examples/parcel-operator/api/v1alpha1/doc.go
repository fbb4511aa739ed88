// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the ParcelService, the component type of the example operator.
//
// +kubebuilder:object:generate=true
// +groupName=example.io
package v1alpha1
