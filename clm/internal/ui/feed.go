// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/clm/internal/releases"
)

// idleTimeout is how long a feed without readers keeps running, so that the next page about the same target need not start
// it again.
const idleTimeout = 3 * time.Second

// feed is a source of values that several pages show. It begins with the first reader, and ends after the last.
type feed struct {
	stop context.CancelFunc
	// The lock of feeds guards the readers, and the timer that ends the feed when there are none.
	readers int
	idle    *time.Timer

	mu    sync.Mutex
	state state
}

// state is what a feed has found.
type state struct {
	// value is the last value; nil before the first one.
	value any
	// trouble is why there is no newer value; empty if there is no reason.
	trouble string
	// ended means that there will be no other state, isFinal also that trying again does not help.
	ended, isFinal bool
	// changed is closed when there is another state.
	changed chan struct{}
}

// tell replaces the state. If value is nil, the last one remains.
func (f *feed) tell(value any, trouble string) { f.set(state{value: value, trouble: trouble}) }

func (f *feed) set(next state) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.state
	if next.changed = make(chan struct{}); next.value == nil {
		next.value = before.value
	}
	f.state = next
	close(before.changed)
}

// now returns the present state.
func (f *feed) now() state {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// source runs until its context ends. It tells each new value or, without a value, its trouble.
type source func(ctx context.Context, tell func(value any, trouble string)) error

// feeds are all feeds of a server.
type feeds struct {
	ctx     context.Context
	running sync.WaitGroup

	mu   sync.Mutex
	open map[string]*feed
}

func newFeeds(ctx context.Context) *feeds { return &feeds{ctx: ctx, open: map[string]*feed{}} }

// join returns the feed with a name, which begins if there is none. The reader calls leave once.
func (f *feeds) join(name string, run source) (joined *feed, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	joined = f.open[name]
	if joined == nil {
		ctx, stop := context.WithCancel(f.ctx)
		joined = &feed{stop: stop, state: state{changed: make(chan struct{})}}
		f.open[name] = joined
		f.running.Go(func() {
			defer stop()
			if err := run(ctx, joined.tell); err != nil && ctx.Err() == nil {
				f.mu.Lock()
				f.forgetLocked(name, joined) // the next reader begins again
				f.mu.Unlock()
				joined.set(state{trouble: err.Error(), ended: true, isFinal: isFinal(err)})
			}
		})
	}
	joined.readers++
	if joined.idle != nil {
		joined.idle.Stop()
	}
	return joined, sync.OnceFunc(func() { f.leave(name, joined) })
}

func (f *feeds) leave(name string, left *feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left.readers--; left.readers > 0 {
		return
	}
	left.idle = time.AfterFunc(idleTimeout, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if left.readers == 0 {
			left.stop()
			f.forgetLocked(name, left)
		}
	})
}

// forgetLocked forgets a feed that has ended.
func (f *feeds) forgetLocked(name string, ended *feed) {
	if f.open[name] == ended {
		delete(f.open, name)
	}
}

// wake makes the readers of a feed, if there is one, render again.
func (f *feeds) wake(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if awake := f.open[name]; awake != nil {
		awake.mu.Lock()
		defer awake.mu.Unlock()
		before := awake.state.changed
		awake.state.changed = make(chan struct{})
		close(before)
	}
}

// isFinal reports whether trying again does not help.
func isFinal(err error) bool {
	return apierrors.IsForbidden(err) || releases.IsFinal(err) || errors.Is(err, releases.ErrNotFound)
}

// wait returns when all feeds have ended, after their context has.
func (f *feeds) wait() { f.running.Wait() }
