// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generation calls generators, and reuses their results.
//
// # Contract
//
// The result of a pure generator is reused until one of its inputs changes, unless the generator has read from a cluster. The types of the
// cluster that it has looked up are inputs, too.
package generation
