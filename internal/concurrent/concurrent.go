// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package concurrent does work in several goroutines: one for each processor, or with a limit.
//
// # Contract
//
// Each function returns when all work has ended. A panic of the work becomes a *Panic of the caller.
package concurrent

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
// failure it starts no further calls. It returns the error of the first failed item, in the order of items. After a
// panic, it panics with a *Panic.
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

// maxBatch is the maximum number of items that a processor takes at a time: an item may need only a microsecond, and
// taking it must not need as long.
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

// Panic is a panic that was caught.
type Panic struct {
	// Value is the argument of panic.
	Value any
	// Place is where the panic happened: the last two elements of the path of the file, and the line.
	Place string
	// Stack is that of the goroutine with the panic.
	Stack []byte
}

// String returns value and place, for panics that are not caught.
func (p *Panic) String() string { return fmt.Sprintf("%v (%s)", p.Value, p.Place) }

// NewPanic returns the panic with a recovered value. Call it in the deferred function that has recovered.
func NewPanic(value any) *Panic {
	if carried, ok := value.(*Panic); ok {
		return carried
	}
	return &Panic{Value: value, Place: place(), Stack: debug.Stack()}
}

// Carrier carries the first panic of several goroutines. It is safe for concurrent use. The zero value is ready for
// use.
type Carrier struct {
	mu    sync.Mutex
	first *Panic
}

// Catch catches a panic of the function that defers it. It must be deferred directly.
func (c *Carrier) Catch() {
	value := recover()
	if value == nil {
		return
	}
	caught := NewPanic(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = cmp.Or(c.first, caught)
}

// Deliver panics with a *Panic if one was caught. Call it when all goroutines have ended.
func (c *Carrier) Deliver() {
	if c.first != nil {
		panic(c.first) //nolint:forbidigo // it was one already, and who waits must not go on
	}
}

// place returns where the caught panic happened: the call of panic, or the failed operation. For a place in the
// standard library, it returns the place of the call into it.
func place() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	first := ""
	panicking := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(frame.Function, "runtime."):
			at := fmt.Sprintf("%s/%s:%d", path.Base(path.Dir(frame.File)), path.Base(frame.File), frame.Line)
			if !isStandard(frame.Function) {
				return at
			}
			first = cmp.Or(first, at)
		}
		if !more {
			return cmp.Or(first, "unknown place")
		}
	}
}

// isStandard reports whether a function belongs to the standard library: the first element of its path has no dot, and
// it is not in package main.
func isStandard(function string) bool {
	element, _, hasPath := strings.Cut(function, "/")
	if !hasPath {
		return !strings.HasPrefix(function, "main.")
	}
	return !strings.Contains(element, ".")
}

// Elapsed returns the time between two readings of the clock. The monotonic clock stands still while a machine is
// suspended, and the wall clock can be set back; the longer of both durations counts.
func Elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// ContextWithGrace returns a context that outlives the given one by a period. The caller must call the function when
// the work is done.
func ContextWithGrace(ctx context.Context, period time.Duration) (context.Context, context.CancelFunc) {
	result, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(period, cancel) })
	return result, func() {
		stop()
		cancel()
	}
}
