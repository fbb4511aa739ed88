// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package targets connects to the clusters that have the dependents of components.
//
// # Contract
//
// Each cluster is observed once, as the operator itself or as the kubeconfig says, and as long as a component uses it. A component has one target at a
// time; what an earlier one holds for it is released when it is connected to another one.
//
// A kubeconfig may lead to another cluster all of a sudden. So each connection is asked once which cluster it leads to: that is the UID of the
// namespace kube-system.
package targets
