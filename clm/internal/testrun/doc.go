// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package testrun runs the tests of a release: the objects of its current revision that are applied for that purpose only.
//
// # Contract
//
// Tests have their own owner id and their own inventory in the record of the release. A run holds the lock of the release, removes first what the last
// run has left, and always starts from the beginning. An object is recorded before it is created, so that the next run, or the deletion of the
// release, finds it, however the run ends.
package testrun
