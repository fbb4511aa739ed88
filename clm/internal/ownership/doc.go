// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package ownership tells which release owns an object.
//
// # Contract
//
// The label of an object decides who owns it; it is made of the id of the owner, which an annotation tells. Both can be written by anybody who may write the
// object: they are evidence of what is in the cluster, and nothing to be trusted as input. An object without the label that has the recorded UID still
// counts as a dependent.
package ownership
