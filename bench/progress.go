// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// progressInterval is the least time between two lines about the same work.
const progressInterval = 5 * time.Second

// A progress tells on the standard error what is going on.
type progress struct {
	out     io.Writer
	started time.Time

	mu   sync.Mutex
	last time.Time
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, started: time.Now()}
}

// say prints a line.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	fmt.Fprintf(p.out, "%6.1fs  %s\n", time.Since(p.started).Seconds(), fmt.Sprintf(format, args...))
}

// tick prints a line unless there was one lately.
func (p *progress) tick(format string, args ...any) {
	p.mu.Lock()
	due := time.Since(p.last) >= progressInterval
	p.mu.Unlock()
	if due {
		p.say(format, args...)
	}
}

// Write has a program that writes lines to a log say them.
func (p *progress) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(line)
}

// pause waits, unless the context ends before.
func pause(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
