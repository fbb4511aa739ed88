// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
)

// Following says which release to follow, and has the functions that are called. They are not called concurrently.
type Following struct {
	// Namespace and Name of the release, which need not exist.
	Namespace, Name string
	// Reasons are those why dependents are not ready. Defaults to all.
	Reasons Reasons
	// Show gets the snapshot of the release, first at once and then after each change, and reports whether to stop.
	// Required.
	Show func(snapshot *Snapshot) (enough bool)
	// Trouble gets the errors after which Follow retries. Defaults to a function that does nothing.
	Trouble func(err error)
}

// firstRetry and lastRetry are the first and the longest pause after an error.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// shortestPause is the least time between two looks at a release. If a look takes longer, that is the least time.
const shortestPause = 200 * time.Millisecond

// Follow looks at a release whenever something of it has changed: its record, a dependent, an object that a dependent
// owns, or the events about these. It returns nil when Show says to stop, and the cause of the context if that ends
// first. If the user may not watch something, that is noted; the record must be watched.
func Follow(ctx context.Context, c *runner.Connection, following Following) error {
	if following.Trouble == nil {
		following.Trouble = func(error) {}
	}
	watching, stop := context.WithCancel(ctx)
	f := &follower{Following: following, connection: c, woken: make(chan struct{}, 1), fatal: make(chan error, 1), unwatched: map[display.Note]bool{}, drop: func() {}}
	defer f.running.Wait()
	defer stop()
	f.keep(watching, func(ctx context.Context) error {
		return c.Records().Watch(ctx, following.Namespace, following.Name, f.wake)
	})
	delay, first := firstRetry, true
	for {
		began := time.Now()
		snapshot, err := Look(ctx, c, following.Namespace, following.Name, following.Reasons)
		took := time.Since(began)
		var next time.Duration
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (first || releases.IsFinal(err)):
			return err
		case err != nil:
			f.trouble(err)
			next, delay = delay, min(2*delay, lastRetry)
		default:
			first, delay, next = false, firstRetry, snapshot.deadline
			snapshot.Notes = f.addNotes(snapshot.Notes)
			if f.show(snapshot) {
				return nil
			}
			f.watch(watching, snapshot.Release)
		}
		if err := f.sleep(ctx, max(shortestPause, took), next); err != nil {
			return err
		}
	}
}

// follower watches a release during one call of Follow.
type follower struct {
	Following
	connection *runner.Connection
	woken      chan struct{}
	fatal      chan error
	running    sync.WaitGroup
	// watched names the dependents that are watched; drop stops watching them.
	watched string
	drop    context.CancelFunc

	mu        sync.Mutex // guards all below, and calls of the functions of Following
	unwatched map[display.Note]bool
}

func (f *follower) show(snapshot *Snapshot) (enough bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Show(snapshot)
}

func (f *follower) trouble(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Trouble(err)
}

func (f *follower) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// keep runs a function until the context ends, and again if it fails.
func (f *follower) keep(ctx context.Context, run func(ctx context.Context) error) {
	f.running.Go(func() {
		for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
			err := run(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
				select {
				case f.fatal <- err:
				default:
				}
				return
			case err != nil:
				f.trouble(err)
			}
			select {
			case <-time.After(delay):
			case <-ctx.Done():
				return
			}
		}
	})
}

// watch watches the dependents that the release has now.
func (f *follower) watch(ctx context.Context, release *releases.Release) {
	if release == nil {
		release = &releases.Release{}
	}
	var names []string
	for _, item := range release.Inventory {
		names = append(names, display.Text(item))
	}
	wanted := strings.Join(names, "\n")
	if wanted == f.watched {
		return
	}
	f.drop()
	ctx, f.drop = context.WithCancel(ctx)
	f.watched = wanted
	options := Inspection(f.connection, release, release.Inventory)
	f.Reasons.limit(&options)
	f.keep(ctx, func(ctx context.Context) error {
		return live.Watch(ctx, options, live.WatchSink{Changed: f.wake, Note: f.note})
	})
}

func (f *follower) note(note display.Note) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unwatched[note] = true
}

// addNotes adds notes about what cannot be watched.
func (f *follower) addNotes(notes []display.Note) []display.Note {
	f.mu.Lock()
	defer f.mu.Unlock()
	unwatched := slices.SortedFunc(maps.Keys(f.unwatched), func(a, b display.Note) int { return strings.Compare(a.String(), b.String()) })
	return append(slices.Clone(notes), unwatched...)
}

// sleep waits for the pause, and then until something has changed. If atMost is positive, it waits at most that long.
func (f *follower) sleep(ctx context.Context, pause, atMost time.Duration) error {
	var over <-chan time.Time
	if atMost > 0 {
		timer := time.NewTimer(max(pause, atMost))
		defer timer.Stop()
		over = timer.C
	}
	resting := time.NewTimer(pause)
	defer resting.Stop()
	if err := f.await(ctx, nil, resting.C); err != nil {
		return err
	}
	return f.await(ctx, f.woken, over)
}

func (f *follower) await(ctx context.Context, woken <-chan struct{}, over <-chan time.Time) error {
	select {
	case <-woken:
	case <-over:
	case err := <-f.fatal:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
