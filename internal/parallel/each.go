// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parallel

import (
	"cmp"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls work for all items, at most limit of them side by side, and returns when all is done. After a failure it begins nothing new, and lets finish
// what has begun. It returns the error of the first item, by order, that has failed.
func Each[T any](limit int, items []T, work func(i int, item T) error) error {
	failures := make([]error, len(items))
	var failed atomic.Bool
	var group errgroup.Group
	group.SetLimit(limit)
	for i, item := range items {
		group.Go(func() error {
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
	return cmp.Or(failures...)
}
