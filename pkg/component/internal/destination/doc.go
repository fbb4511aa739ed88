// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package destination decides where the dependents of a component are, and where they go.
//
// # Contract
//
// The status says which cluster has the dependents. If the kubeconfig leads to another one, they are deleted where they are before any is created there. What is out of
// reach while the component is being deleted holds the deletion back: it is never taken for nothing. A connection that this process still has is used even
// if what leads to it is lost. Users may give up what cannot be reached, by an annotation.
package destination
