// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"context"
	"sync"
)

// EachWithin runs work for all items, as many in parallel as the API server serves well, and waits for all of them.
// After a panic of work, it panics with a *Panic when all are done.
func EachWithin[T any](ctx context.Context, limiter *Limiter, items []T, work func(T)) {
	if len(items) == 1 {
		work(items[0])
		return
	}
	limiter.Calm()
	var group sync.WaitGroup
	var carrier Carrier
	do := func(item T) {
		defer carrier.Catch()
		work(item)
	}
	next := make(chan T)
	for _, item := range items {
		if limiter.Acquire(ctx) != nil {
			// The context has ended; the requests of this item will return its error.
			do(item)
			continue
		}
		select {
		case next <- item:
		default:
			// A goroutine handles many items: its stack grows to what a request needs only once.
			group.Go(func() {
				do(item)
				limiter.Release()
				for item := range next {
					do(item)
					limiter.Release()
				}
			})
		}
	}
	close(next)
	group.Wait()
	carrier.Deliver()
}
