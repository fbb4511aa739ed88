// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package bundles has the component that is measured, and its generator.
//
// +groupName=bench.component-operator.io
// +versionName=v1
// +kubebuilder:object:generate=true
package bundles
