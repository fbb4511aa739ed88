// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generating is the side of those who call generators: it puts into the context what package generator finds
// there, remembers what clusters say about themselves, and records whether a generator has looked into a cluster.
package generating
