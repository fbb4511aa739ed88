// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package display has what clm shows of the objects of a release: how they stand, what an operation does to them while
// it runs, and how manifests differ.
//
// # Texts of others
//
// Names, messages and logs come from clusters and charts, and may contain control sequences. [Guard] makes all output
// to a terminal safe. Where it is for people, no matter what it is written to, a [Table], [Clean] and [CleanLines] do
// so, too, and keep a text from pretending to be several lines.
//
// # Tables and lists
//
// [Limit] is the width of lines on a writer. A [Table] fits in it; lists that are no tables use [Elide] for names and
// [Wrap] for messages. Where there is no limit, nothing is shortened, left out or wrapped.
package display
