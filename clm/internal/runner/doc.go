// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package runner is what all operations on releases do alike: it holds the lock of a release, calls the engine until there is nothing left to do, and
// shows how that goes.
//
// # Contract
//
// Whoever changes a release begins an Operation, which holds the lock, and checks the lock before each write. A Convergence calls the engine again and
// again. Nothing is polled: it is woken when one of the dependents changes, or when the engine has asked to be called again.
//
// Whenever the context of an operation ends, no further request that changes something begins; those under way are answered, how far
// the operation came is recorded, and the lock is given back.
package runner
