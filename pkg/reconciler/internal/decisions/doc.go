// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package decisions decides what to do about one object, from its desired object, its record and its observed state. All functions are pure; the tests are
// tables whose rows give reasons.
package decisions
