// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package selection finds the objects that users name on a command line.
//
// # Contract
//
// Users name an object by KIND[.GROUP]/[NAMESPACE/]NAME. The kind may also be a resource or a short name of the cluster. Functions ask the cluster only
// if none of the objects in question has a kind of that name. A text that denotes no object, or more than one, is refused, and the error lists the
// candidates.
package selection
