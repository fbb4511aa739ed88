// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package stores gives access to what a component records outside of its status: ConfigMaps and Secrets.
//
// # Contract
//
// Objects are named after their content and the owner. Those of a namespaced component are in its namespace; those of a
// cluster-scoped one are in the state namespace of the operator. Since that option may change, the operator is told its
// former values: a namespace that a status names is read, and leftovers there are removed, only if it is one of these.
package stores
