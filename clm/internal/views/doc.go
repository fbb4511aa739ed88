// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package views tells how a release stands, without changing anything.
//
// # Contract
//
// A Standing is put together from the record, the dependents and the lock, which are read one after the other; what the user may not read is noted. Follow
// looks again whenever something of it has changed, by watches and not by polling. Clients of this package show a Standing, or look further
// into it with package live.
package views
