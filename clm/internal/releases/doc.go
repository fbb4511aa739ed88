// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package releases stores the records of releases, and their locks, in the namespaces of the releases.
//
// # Contract
//
// The record of a release is one Secret, the index, and further Secrets, the chunks, for parts that are too large for
// the index or rarely read. Chunks that the index does not name are ignored. Each write creates new chunks first, then
// updates the index, and then removes the chunks that it no longer names. So a process that dies between any two
// requests loses nothing. At worst it leaves unused chunks, which the next write removes.
//
// The content of a revision is one chunk, or several if it is too large for one.
//
// The index is written only in the state in which it was read. Of two processes that have read the same one, the second
// one to write gets [ErrOutdated], and must read again. [Lock] prevents other processes from starting at all.
//
// Index and chunks have a finalizer: they survive the deletion of their namespace until [Store.Remove] is called,
// because they are the only information about dependents elsewhere.
//
// A [Release] is a value in the memory of one process. It is not safe for concurrent use; a [Store] is.
//
// # Failures
//
// The errors of operations on releases name objects, holders and commands, and can be shown as they are. Their types
// determine the exit codes of commands: a NotReadyError, a RefusedError, or an InterruptedError. An error for which
// IsChanged is true requires another plan.
package releases
