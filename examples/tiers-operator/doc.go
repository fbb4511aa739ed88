// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command tiers-operator is an operator for applications with three tiers: a database, a migration of its schema, and
// web servers with all that belongs to them. Its dependents are typed resources.
//
// +kubebuilder:object:generate=true
// +groupName=tiers.example.io
// +versionName=v1
package main
