// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package releases keeps the records of releases in Secrets of the namespaces of these releases, and their locks.
//
// # Contract
//
// A release has one Secret with all that is recorded of it, its index, and further ones, the chunks, for what is too large or too
// rarely read to be in the index. Only what the index names counts. Each write goes in this order: the chunks that
// are new, the index, and then the removal of the chunks that it does not name any more. So a process that dies between any two
// requests loses nothing. It leaves at worst chunks that nobody needs; the next process that writes removes them.
//
// The index is written only in the state in which it was read. Of two processes that have read the same one, the second one to
// write gets [ErrOutdated], and must read again. [Lock] keeps others from beginning at all.
//
// Index and chunks have a finalizer: they survive the deletion of their namespace until [Store.Remove] is called, because they
// are all that is known about dependents elsewhere.
//
// A [Release] is a value in the memory of one process. It is not safe for concurrent use; a [Store] is.
package releases
