// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package apply plans and makes revisions of releases: what sources yield, an earlier revision, or once more the current one.
//
// # Contract
//
// A plan says what is going to be done, and has changed nothing. It is to be closed. What it says is then done while the lock of the release is held, if
// the release is still as it was, and recorded before it is done: the new revision before the first object is written, each object
// before the request that creates it. So a process that dies between any two requests loses nothing, and the next operation on the
// same release goes on where it has stopped. Tests and deletion hooks are no part of this: see packages testrun and deletion.
package apply
