// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package destination decides which cluster the dependents of a component are in, and whether they move.
//
// # Contract
//
// The status records the cluster of the dependents. If the kubeconfig refers to another one, the dependents are deleted in the former cluster before any
// is created in the new one. Unreachable dependents block the deletion of the component: they never count as gone. A connection of an earlier pass is
// used even if its kubeconfig is lost. Users may abandon unreachable dependents by an annotation.
package destination
