// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package ownership reports which release owns an object.
//
// # Contract
//
// The label of an object decides who owns it. It is a hash of the id of the owner, which an annotation has in plain text. Any user who may write the object
// can write both: they are evidence, not trusted input. An object without the label that has the recorded UID still
// counts as a dependent.
package ownership
