// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"cmp"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// All calls work for all items, at most limit of them in parallel, and returns when all calls have ended. After a panic,
// it panics with a *Panic.
func All[T any](limit int, items []T, work func(item T)) {
	_ = Each(limit, items, func(_ int, item T) error { // there are no errors
		work(item)
		return nil
	})
}

// Each calls work for all items, at most limit of them in parallel, and returns when all calls have ended. After a
// failure it starts no further calls. It returns the error of the first item, by order, that has failed. After a panic,
// it panics with a *Panic.
func Each[T any](limit int, items []T, work func(i int, item T) error) error {
	failures := make([]error, len(items))
	var failed atomic.Bool
	var group errgroup.Group
	var carrier Carrier
	group.SetLimit(limit)
	for i, item := range items {
		group.Go(func() error {
			defer carrier.Catch()
			if failed.Load() {
				return nil
			}
			if failures[i] = work(i, item); failures[i] != nil {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // the failures say more
	carrier.Deliver()
	return cmp.Or(failures...)
}
