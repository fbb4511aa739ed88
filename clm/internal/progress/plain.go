// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/terminal"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// plain writes a line for each thing that changes, or if it is quiet the outcome only.
type plain struct {
	out   io.Writer
	clock clock.PassiveClock
	style terminal.Style
	quiet bool

	mu      sync.Mutex
	started time.Time
	ended   bool
	state   State
	said    history
}

func (p *plain) Update(state State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if p.started.IsZero() {
		p.started = p.clock.Now()
	}
	state.Objects = slices.Clone(state.Objects)
	p.state = state
	if p.quiet {
		return
	}
	phase, message, changes := p.said.advance(state)
	var b strings.Builder
	if phase && state.Phase != "" {
		fmt.Fprintf(&b, "%s: %s\n", p.style.Bold(terminal.Clean(state.title())), terminal.Clean(state.Phase))
	}
	if message && state.Message != "" {
		fmt.Fprintf(&b, "%s: %s\n", p.style.Bold(terminal.Clean(state.title())), p.style.Yellow(terminal.Clean(state.Message)))
	}
	for _, change := range changes {
		for _, news := range change.news(p.style) {
			fmt.Fprintf(&b, "%s: %s\n", terminal.Clean(change.after.Key.String()), news)
		}
	}
	_, _ = io.WriteString(p.out, b.String())
}

func (p *plain) Finish(outcome Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	writeOutcome(p.out, summary{state: p.state, outcome: outcome, started: p.started, now: p.clock.Now(), style: p.style})
}

// news returns what is worth a line. What was ready all the time, and what has not had its turn, is not.
func (c change) news(style terminal.Style) []string {
	var news []string
	if c.acted() {
		news = append(news, style.Green(strings.ToLower(string(c.after.Verb))))
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
func (c change) situation(style terminal.Style) string {
	was, is := c.before.standing(), c.after.standing()
	if was == is && c.before.Wait == c.after.Wait && c.before.leaving() == c.after.leaving() {
		return ""
	}
	reason := terminal.Clean(c.after.Wait)
	if reason != "" {
		reason = ": " + reason
	}
	switch {
	case is == failed:
		return style.Red(c.after.label()) + reason
	case is == moving && c.after.leaving():
		return style.Yellow(c.after.label()) + reason
	case is == moving && reason != "":
		return style.Yellow("waiting") + reason
	case is == done && was != pending && !c.acted():
		return style.Green(c.after.label())
	}
	return ""
}

// leaving tells whether the object is on its way out.
func (o Object) leaving() bool {
	return o.Phase == reconciler.PhaseDeleting || o.Phase == reconciler.PhaseCompleting
}
