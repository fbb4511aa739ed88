// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what to do about one object, from its desired object, its record and its observed state, and
// plans the next inventory. These functions are pure; the tests are tables whose rows give reasons.
//
// It also has the outputs of a call other than the inventory: its result (Reporter), and the memory of the process
// (Memory). Losing the memory does no harm.
package decide
