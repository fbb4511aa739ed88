// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package prunes says which objects an operation no longer wants, and in which order they are deleted, and makes them dependents if they are none yet.
//
// # Order
//
// Objects are deleted in the reverse order of their waves, between the waves of what is applied: waves with such objects swap numbers, the first with the last, and so
// on. If waves 1, 3 and 4 have such objects, those of wave 4 are deleted before wave 1 is applied, those of wave 3 before wave 3, and those of wave 1 before wave 4.
// Objects with PruneLast come after everything is applied, also in reverse order.
package prunes
