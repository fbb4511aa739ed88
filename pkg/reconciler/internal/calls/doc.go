// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package calls has what one call of Apply, Delete or Plan works with: its inventory while that changes, the consent of its owner, what it has told the
// observer, and the plan to which it keeps.
package calls
