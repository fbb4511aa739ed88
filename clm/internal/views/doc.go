// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package views reports how a release stands, without changing anything.
//
// # Contract
//
// A Standing is put together from the record, the dependents and the lock, which are read one after the other. It notes what the user may not read. Follow
// looks again whenever one of them has changed, by watches and not by polling. Commands show a Standing, or use package live for further
// details.
package views
