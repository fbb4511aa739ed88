// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"io"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// minPause is the least time between two redraws.
	minPause = 100 * time.Millisecond
	// maxPause is the time after which the view is redrawn without a change, because ages have grown.
	maxPause = time.Second
)

// live redraws a view.
type live struct {
	out   io.Writer
	clock clock.WithDelayedExecution
	size  func() (columns, rows int)
	style Style

	mu      sync.Mutex
	screen  *Screen
	started time.Time
	ended   bool
	state   Progress
	// drawn is the time of the last redraw; due is that of the next one, for which the timer is set.
	drawn, due time.Time
	timer      clock.Timer
}

func newLive(options PrinterOptions, style Style) *live {
	return &live{clock: options.Clock, size: options.Size, style: style, out: options.Out, screen: NewScreen(options.Out)}
}

func (l *live) Update(state Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if l.started.IsZero() {
		l.started = l.clock.Now()
	}
	state.Objects = slices.Clone(state.Objects)
	l.state = state
	now := l.clock.Now()
	if next := l.drawn.Add(minPause); now.Before(next) {
		l.schedule(now, next)
		return
	}
	l.draw(now)
}

func (l *live) Finish(outcome Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	columns, rows := l.size()
	l.screen.Clear(columns, rows)
	writeOutcome(l.out, summaryOfProgress{state: l.state, outcome: outcome, started: l.started, now: l.clock.Now(), style: l.style, width: columns})
}

// wake is called by timers, also by those that were replaced while they fired.
func (l *live) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.clock.Now(); !l.ended && !now.Before(l.due) {
		l.draw(now)
	}
}

func (l *live) draw(now time.Time) {
	columns, rows := l.size()
	// A line that fills the last column leaves the cursor in limbo, and the line below the view belongs to the cursor.
	view := view{state: l.state, started: l.started, now: now, width: columns - 1, height: rows - 1, style: l.style}
	l.screen.Show(view.lines(), columns, rows)
	l.drawn = now
	l.schedule(now, now.Add(maxPause))
}

func (l *live) schedule(now, due time.Time) {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.due = due
	l.timer = l.clock.AfterFunc(due.Sub(now), l.wake)
}
