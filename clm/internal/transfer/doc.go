// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package transfer changes to whom objects belong: a release adopts objects or lets go of them, or hands them over to another one.
//
// # Contract
//
// The label of an object says at any time who owns it, whatever is recorded. Of a move, the receiver records first that it has the objects, then the label
// changes in one write for each object, and then the giver records that it has them no more. Doing the same again goes on with what was interrupted.
package transfer
