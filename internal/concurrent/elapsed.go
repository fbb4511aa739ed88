// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import "time"

// Elapsed returns the time between two readings of the clock. The monotonic clock stands still while a machine is
// suspended, and the wall clock can be set back; the longer of both durations counts.
func Elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
