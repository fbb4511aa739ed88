// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package testrun runs the tests of a release: objects of its current revision that are applied for a test run only.
//
// # Contract
//
// Tests have their own owner ID and their own inventory in the record of the release. A run holds the lock of the release, first removes the objects
// of the last run, and always starts from the beginning. An object is recorded before it is created, so that the next run, or the deletion of the
// release, finds it even if the run is interrupted.
package testrun
