// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package stores keeps what a component records outside of its status: in ConfigMaps and Secrets beside it.
//
// # Contract
//
// Objects are named after their content and the owner. What is beside a namespaced component is in its namespace; what belongs to a cluster-scoped one
// is in the state namespace of the operator, which may change. So whoever looks for leftovers looks in the namespaces that were recorded, too.
package stores
