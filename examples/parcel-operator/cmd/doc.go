// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command parcel-operator runs the operator in a cluster. It takes the connection from --kubeconfig, KUBECONFIG, or
// the pod that it runs in.
package main
