// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package runner has what all operations on releases share: the connection to the cluster and to the records in it, the
// lock of a release, calls of the engine until nothing is left to do, and the progress of these.
//
// # Contract
//
// Code that changes a release begins an Operation, which holds the lock, and checks the lock before each write. A
// Convergence is an operation of package sync with the errors of package releases. It does not poll: it wakes up when a
// dependent changes, or when the engine has asked to be called again.
//
// When the context of an operation ends, no further writing request begins. The operation waits for the answers to
// pending requests, records its progress, and gives the lock back.
package runner
