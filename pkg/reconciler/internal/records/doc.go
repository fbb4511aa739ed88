// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package records compares targets with the inventory of the last call, and says what has to be recorded before anything is written. It looks at
// nothing else.
package records
