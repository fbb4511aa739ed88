// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package waves is the walk of one call over its dependents, wave by wave: it applies, corrects, purges and deletes them,
// or plans that. It goes as far as it can without waiting.
//
// Waves and Remover walk. For one object, they look at it, decide (package decisions), and have an execution carry that
// out: see object.go. The live execution makes requests; the planned one records what is decided.
package waves
