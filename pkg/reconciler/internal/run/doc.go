// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package run implements one call of Apply, Delete or Plan: its state, and its walk over the dependents, wave by wave.
// It applies, corrects, purges and deletes them, or plans that. It does as much as it can without waiting.
//
// Waves observe each object, decide about it (package decide), and pass the decision to an execution; see object.go.
// The live execution makes requests; the planned one records the decisions.
package run
