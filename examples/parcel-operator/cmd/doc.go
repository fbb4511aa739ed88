// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command parcel-operator runs the operator in a cluster. It connects by --kubeconfig, KUBECONFIG, or the service
// account of its pod.
package main
