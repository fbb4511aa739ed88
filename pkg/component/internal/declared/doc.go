// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package declared loads what a component declares: its spec, with the content of its references, and a digest of both.
//
// # Contract
//
// A pass waits for missing references. While a component is being deleted, only the kubeconfig is required; other
// references are loaded if they exist, and only if code of the operator may use them.
//
// A recorded digest does not help to guess the content of a Secret; see secretUIDs.
package declared
