// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package probes has a status.Judge that goes by declared probes: conditions, fields and CEL expressions, for the
// objects that a selector selects.
//
// +kubebuilder:object:generate=true
package probes
