// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// maxBatch is how many items a processor takes at a time if there are many: an item may take a microsecond, and taking
// it must not take as long.
const maxBatch = 16

// Do does the work for 0 to n-1, in no particular order, and returns when all is done. The work must not block. After a
// panic, it panics with a *Panic when all processors have stopped.
func Do(n int, work func(i int)) {
	processors := runtime.GOMAXPROCS(0)
	batch := max(1, min(maxBatch, n/(4*processors)))
	var taken atomic.Int64
	var carrier Carrier
	take := func() {
		defer carrier.Catch()
		for {
			end := int(taken.Add(int64(batch)))
			for i := end - batch; i < min(end, n); i++ {
				work(i)
			}
			if end >= n {
				return
			}
		}
	}
	var others sync.WaitGroup
	for range min((n-1)/batch, processors-1) {
		others.Go(take)
	}
	take()
	others.Wait()
	carrier.Deliver()
}
