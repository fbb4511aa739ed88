// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package session works on releases: it plans, applies, rolls back and deletes them.
//
// # Contract
//
// An operation first finds out what it is going to do, without changing anything. What it then does is done while it holds the lock of
// the release, and recorded before it is done: the new revision before the first object is written, each object
// before the request that creates it. So a process that dies between any two requests loses nothing, and the next operation on the
// same release goes on where it has stopped. How deletion hooks take part in that is told by package deletionhooks; tests have an owner and an
// inventory of their own, and always begin anew.
//
// Whenever the context of an operation ends, no further request that changes something begins; those under way are answered, how far
// the operation came is recorded, and the lock is given back.
//
// Nothing is polled. An operation is woken when one of the dependents changes, or when the engine has asked to be called again.
package session
