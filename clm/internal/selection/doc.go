// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package selection finds the objects that users name on a command line.
//
// # Contract
//
// An object is named by KIND[.GROUP]/[NAMESPACE/]NAME. The kind may also be a resource or a short name as the cluster knows it. The cluster is asked only
// if no object in question is of a kind that is called so. A text that denotes nothing, or more than one object, is refused, and the error says what there is.
package selection
