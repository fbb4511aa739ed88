// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package deletion deletes releases, with their hooks and what their tests have left.
//
// # Contract
//
// A Deletion says what goes, what stays and what forbids it, and has changed nothing. When it is carried out, it holds the lock of the release, and how far
// it has come is recorded before each step, so that the next deletion of the same release goes on where this one has stopped. How
// deletion hooks take part is told by package internal/deletionhooks. The record goes last.
package deletion
