// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command bookshop-operator is an operator whose dependents are typed resources: a Deployment with mutations that
// belong to versions and features, and that needs the address which a cloud controller gives its Service.
//
// +kubebuilder:object:generate=true
// +groupName=bookshop.example.io
// +versionName=v1
package main
