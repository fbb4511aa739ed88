// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/component-operator/runtime/clm/internal/display"
)

const (
	// followPause is the least time between two looks.
	followPause = time.Second
	// followAnyway is the time after which follow looks again even if nothing has changed: something may not be watched.
	followAnyway = 30 * time.Second
)

// follow calls look when everything that Tree reads is watched, and again after each change of it, until the context
// ends, which is not an error. After an error of a later look, it retries.
func follow(ctx context.Context, options Options, note func(display.Note), look func(ctx context.Context) error) error {
	woken := make(chan struct{}, 1)
	wake := func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return Watch(ctx, options, WatchSink{Changed: wake, Note: note, allEvents: true})
	})
	group.Go(func() error {
		for first := true; ; first = false {
			select {
			case <-woken:
			case <-time.After(followAnyway):
			case <-ctx.Done():
				return nil
			}
			begun := time.Now()
			if err := look(ctx); err != nil && first && ctx.Err() == nil {
				return err
			}
			select {
			case <-time.After(max(followPause, 2*time.Since(begun))):
			case <-ctx.Done():
				return nil
			}
		}
	})
	return group.Wait()
}

// once returns a function that passes on each note once, one after the other.
func once(pass func(note display.Note)) func(note display.Note) {
	var mu sync.Mutex
	told := map[display.Note]bool{}
	return func(note display.Note) {
		mu.Lock()
		defer mu.Unlock()
		if !told[note] && pass != nil {
			pass(note)
		}
		told[note] = true
	}
}
