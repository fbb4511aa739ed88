// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"sync"
)

// Each runs work for all items, as many side by side as the API server serves well, and waits for all of them.
func Each[T any](ctx context.Context, limiter *Limiter, items []T, work func(T)) {
	if len(items) == 1 {
		work(items[0])
		return
	}
	limiter.Calm()
	var group sync.WaitGroup
	next := make(chan T)
	for _, item := range items {
		if limiter.Acquire(ctx) != nil {
			// The context has ended, which the requests of this item are going to say.
			work(item)
			continue
		}
		select {
		case next <- item:
		default:
			// Goroutines go on with further items: the stack that a request needs grows once for each of them.
			group.Go(func() {
				work(item)
				limiter.Release()
				for item := range next {
					work(item)
					limiter.Release()
				}
			})
		}
	}
	close(next)
	group.Wait()
}
