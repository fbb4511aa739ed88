// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gogc

import (
	"os"
	"runtime"
	"runtime/debug"
)

func init() {
	const late, later = 1600, 400 // percent; that of a heap that is empty is 4 MiB
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(late)
	runtime.AddCleanup(new(*int), func(percent int) { debug.SetGCPercent(percent) }, later)
}
