// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// progressInterval is the least time between two lines about the same work.
const progressInterval = 5 * time.Second

// A Progress tells on the standard error what is going on.
type Progress struct {
	out     io.Writer
	started time.Time

	mu   sync.Mutex
	last time.Time
}

// New returns a progress that begins now.
func New(out io.Writer) *Progress {
	return &Progress{out: out, started: time.Now()}
}

// Say prints a line.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	fmt.Fprintf(p.out, "%6.1fs  %s\n", time.Since(p.started).Seconds(), fmt.Sprintf(format, args...))
}

// Tick prints a line unless there was one lately.
func (p *Progress) Tick(format string, args ...any) {
	p.mu.Lock()
	due := time.Since(p.last) >= progressInterval
	p.mu.Unlock()
	if due {
		p.Say(format, args...)
	}
}

// Write has a program that writes lines to a log say them.
func (p *Progress) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(line)
}

// Pause waits, unless the context ends before.
func Pause(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
