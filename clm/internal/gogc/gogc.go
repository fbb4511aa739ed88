// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gogc

import (
	"os"
	"runtime/debug"
)

// A collection begins when the heap is larger by percent than after the last one. A ballast counts as part of the heap.
const (
	percent     = 12
	ballastSize = 24 << 20
)

// ballast has two elements after KeepMore, and none if GOGC or GOMEMLIMIT is set. Nobody writes to them, so that they take no memory of the machine.
var ballast [][]byte

func init() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	addBallast()
	debug.SetGCPercent(percent)
}

// KeepMore doubles the ballast, so that about 3 MiB more garbage is kept. It is for commands that mostly compute: for them, time matters more than some MiB.
// It does nothing when called again, or if GOGC or GOMEMLIMIT is set. It is not safe for concurrent use.
func KeepMore() {
	if len(ballast) == 1 {
		addBallast()
	}
}

func addBallast() { ballast = append(ballast, make([]byte, ballastSize)) }
