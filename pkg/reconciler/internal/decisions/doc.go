// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package decisions decides what to do about one object: by its target, its record, and what was seen of it. All functions are pure; the tests are
// tables whose rows give reasons.
package decisions
