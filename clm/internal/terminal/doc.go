// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal knows what the output goes to: whether that is a terminal, how large it is, whether colours are
// wanted, and how many cells a text takes there.
package terminal
