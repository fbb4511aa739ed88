// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package renames says how the metadata of objects changes if a reconciler gets another name.
//
// # Contract
//
// Labels and annotations of a reconciler, and its finalizers, get the present name in place of a former one, with the same values. What is there already under the present name
// stays, and so does what reconcilers do not know: it may mean something to others. Fields that were written by a field manager with a former name belong to the present field
// manager. All of that is one patch, and nothing else of the object changes.
package renames
