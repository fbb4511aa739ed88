// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package targets connects to the clusters of dependents.
//
// # Contract
//
// Each cluster is watched once per identity: that of the operator or that of a kubeconfig, for as long as a component
// uses it. A component has one target at a time; connecting to another one releases the former.
//
// A kubeconfig may refer to another cluster at any time. So the cluster of each connection is identified once, by the
// UID of the namespace kube-system.
package targets
