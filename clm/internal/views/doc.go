// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package views reads the state of releases, and of ObjectSets and the deployments that make them. It writes nothing but
// spec.rollbackTo of such deployments: the operator in the cluster does the work.
//
// # Contract
//
// A Snapshot consists of the record, the dependents and the lock, which are read one after the other. It has notes
// about everything that the user may not read. Follow reads a new snapshot after each change of one of them, by watches
// and not by polling. Commands show a Snapshot, or use package live for further details.
package views
