// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package transfer changes the owners of objects: a release adopts or orphans objects, or moves them to another release.
//
// # Contract
//
// The label of an object says at any time who owns it, whatever the records say. In a move, the receiver first records that it has the objects. Then the label
// of each object changes, in one write. Then the giver records that it no longer has them. Repeating an interrupted move continues it.
package transfer
