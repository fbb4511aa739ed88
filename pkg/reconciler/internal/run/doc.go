// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package run is one call of Apply, Delete or Plan: its state, and its walk over the dependents, wave by wave. It
// applies, corrects, purges and deletes them, or plans that. It goes as far as it can without waiting.
//
// Waves walk. For one object, they look at it, decide (package decide), and have an execution carry that out: see
// object.go. The live execution makes requests; the planned one records what is decided.
package run
