// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal detects the properties of the output: whether it is a terminal, its size, whether to use colours, and how many cells a text
// occupies.
package terminal
