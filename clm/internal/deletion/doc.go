// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package deletion deletes releases, with their hooks and what their tests have left.
//
// # Contract
//
// A Deletion says which objects are deleted, which stay, and what forbids the deletion. It has changed nothing. It is carried out under the lock of the
// release, and its progress is recorded before each step, so that the next deletion of the same release continues where this one stopped. Package
// internal/deletionhooks describes the part of deletion hooks. The record is removed last.
package deletion
