// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// plain writes a line for each thing that changes, or if it is quiet the outcome only.
type plain struct {
	out   io.Writer
	clock clock.WithDelayedExecution
	style Style
	quiet bool

	mu      sync.Mutex
	started time.Time
	ended   bool
	state   Progress
	said    history
	waits   map[Object]*waiting
	// timer is set for the first of the reasons that are due.
	timer clock.Timer
}

// waiting is what was said about an object that waits.
type waiting struct {
	// reason is the one that was said last.
	reason string
	// due is when it is time to say the present one; zero if there is no need to.
	due time.Time
	// pause is how long to wait before the next one is said. It grows, because some reasons change all the time.
	pause time.Duration
}

const (
	// patience is how long an object has to wait until the reason is worth a line: most of them pass at once.
	patience = time.Second
	// maxPatience is how long another reason of the same object has to wait at most.
	maxPatience = 30 * time.Second
)

func (p *plain) Update(state Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	now := p.clock.Now()
	if p.started.IsZero() {
		p.started = now
	}
	state.Objects = slices.Clone(state.Objects)
	p.state = state
	if p.quiet {
		return
	}
	phase, message, changes := p.said.advance(state)
	var b strings.Builder
	if phase && state.Phase != "" {
		fmt.Fprintf(&b, "%s: %s\n", p.style.Bold(Clean(state.title())), Clean(state.Phase))
	}
	if message && state.Message != "" {
		fmt.Fprintf(&b, "%s: %s\n", p.style.Bold(Clean(state.title())), p.style.Yellow(Clean(state.Message)))
	}
	for _, change := range changes {
		for _, news := range change.news(p.style) {
			fmt.Fprintf(&b, "%s: %s\n", Clean(change.after.String()), news)
		}
		p.await(change.after, now)
	}
	_, _ = io.WriteString(p.out, b.String())
	p.schedule(now)
}

// await has the reason told why an object waits, if it is still waiting then.
func (p *plain) await(object Dependent, now time.Time) {
	if object.State != StateUnready || object.Message == "" {
		delete(p.waits, object.Object)
		return
	}
	if p.waits == nil {
		p.waits = map[Object]*waiting{}
	}
	if p.waits[object.Object] == nil {
		p.waits[object.Object] = &waiting{pause: patience}
	}
	if w := p.waits[object.Object]; w.due.IsZero() && w.reason != object.Message {
		w.due = now.Add(w.pause)
	}
}

// schedule sets the timer.
func (p *plain) schedule(now time.Time) {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	var next time.Time
	for _, w := range p.waits {
		if !w.due.IsZero() && (next.IsZero() || w.due.Before(next)) {
			next = w.due
		}
	}
	if !next.IsZero() {
		p.timer = p.clock.AfterFunc(next.Sub(now), p.tell)
	}
}

// tell says why objects wait that have done so for a while.
func (p *plain) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	now := p.clock.Now()
	var b strings.Builder
	for _, object := range p.state.Objects {
		w := p.waits[object.Object]
		if w == nil || w.due.IsZero() || now.Before(w.due) {
			continue
		}
		w.due = time.Time{}
		if w.reason == object.Message {
			continue // another one has come and gone meanwhile
		}
		w.reason, w.pause = object.Message, min(2*w.pause, maxPatience)
		label := "waiting"
		if isLeaving(object) {
			label = object.Label()
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", Clean(object.String()), p.style.Yellow(label), Clean(object.Message))
	}
	_, _ = io.WriteString(p.out, b.String())
	p.schedule(now)
}

func (p *plain) Finish(outcome Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	writeOutcome(p.out, summaryOfProgress{state: p.state, outcome: outcome, started: p.started, now: p.clock.Now(), style: p.style})
}

// news returns what is worth a line at once. What was ready all the time, and what has not had its turn, is not.
func (c change) news(style Style) []string {
	var news []string
	if c.acted() {
		news = append(news, style.Green(c.after.Done()))
	}
	if situation := c.situation(style); situation != "" {
		news = append(news, situation)
	}
	return news
}

func (c change) acted() bool {
	return c.after.Verb != "" && c.after.Verb != c.before.Verb
}

// situation is empty if it is the same as before, or said already by what was done.
func (c change) situation(style Style) string {
	was, is := c.before.State, c.after.State
	switch {
	case is == StateFailed && (was != is || c.before.Message != c.after.Message):
		return style.Red(c.after.Label()) + because(c.after)
	case is == StateUnready && isLeaving(c.after) && (was != is || !isLeaving(c.before)):
		return style.Yellow(c.after.Label())
	case is.IsDone() && was.IsProblem() && !c.acted():
		return style.Green(c.after.Label())
	}
	return ""
}

// isLeaving reports whether the object is on its way out.
func isLeaving(d Dependent) bool {
	return d.Phase == reconciler.PhaseDeleting || d.Phase == reconciler.PhaseCompleting
}
