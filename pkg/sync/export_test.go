// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

// Terminating reports whether somebody has begun to terminate the operation, which may wait for the end of a step then.
func Terminating(operation SyncContext) bool {
	c, ok := operation.(*syncContext)
	return ok && c.terminating()
}
