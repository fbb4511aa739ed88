// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package testrun runs the tests of a release: those objects of its current revision that are applied for that purpose.
//
// # Contract
//
// Tests have an owner and an inventory of their own in the record of the release. A run holds the lock of the release, removes first what the last one
// has left, and always begins anew. An object is recorded before it is created, so that whatever ends a run, the next one, or the deletion of the
// release, finds what it has left.
package testrun
