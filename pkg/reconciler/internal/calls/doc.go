// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package calls has the state of one call of Apply, Delete or Plan: the inventory while it changes, the consent of the
// owner, the kinds that the observer watches for it, and the plan that it keeps to.
package calls
