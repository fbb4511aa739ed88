// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package operation implements the commands of clm for a release: plan and apply, roll back, adopt, orphan, move,
// delete, test, and lint.
package operation
