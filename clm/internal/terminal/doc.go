// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal detects the properties of the output: whether it is a terminal, its size, whether to use colours, and how many cells a text
// occupies.
//
// # Tables and lists
//
// [Limit] is the width of lines on a writer. A [Table] fits in it; lists that are no tables use [Elide] for names and [Wrap] for messages. Where there is
// no limit, nothing is shortened, left out or wrapped.
package terminal
