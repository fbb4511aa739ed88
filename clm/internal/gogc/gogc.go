// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gogc

import (
	"os"
	"runtime/debug"
)

// ballast counts as part of the heap. Nobody writes to it, so that it takes no memory of the machine.
var ballast []byte //nolint:unused // it only has to be there

func init() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	const bytes, percent = 24 << 20, 12
	ballast = make([]byte, bytes)
	debug.SetGCPercent(percent)
}
