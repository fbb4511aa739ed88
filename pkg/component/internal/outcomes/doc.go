// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package outcomes defines how the steps of a pass end, and what the status says about it.
package outcomes
