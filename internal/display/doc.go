// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package display shows the objects of a release: their state, the progress of an operation on them, and differences
// between manifests.
//
// # Texts of others
//
// Names, messages and logs come from clusters and charts, and may contain control sequences. [Guard] makes all output
// to a terminal safe. For output for people, whether to a terminal or not, a [Table], [Clean] and [CleanLines] do so,
// too. Table and Clean also keep each text on one line.
//
// # Tables and lists
//
// [Limit] is the width of lines on a writer. A [Table] fits in it; lists that are no tables use [Elide] for names and
// [Wrap] for messages. Where there is no limit, nothing is shortened, left out or wrapped.
package display
