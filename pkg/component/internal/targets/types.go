// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"sync"
	"time"

	"github.com/component-operator/runtime/internal/generating"
)

// settlingTimes are the delays after the last change of a definition before the types are read again: a short one,
// since types are usually served by then, and a longer one for aggregated types, which the API server reports seconds
// later.
var settlingTimes = []time.Duration{time.Second, 10 * time.Second}

// typeChanges combines changes of types in quick succession.
type typeChanges struct {
	settled func()

	mu     sync.Mutex
	timers []*time.Timer
	// since is when the first unsettled change happened; zero if there is none.
	since time.Time
}

// newTypeChanges drops cached discovery information when types change, and calls changed when they have settled.
func newTypeChanges(changed func()) *typeChanges {
	return &typeChanges{settled: func() {
		generating.InvalidateDiscovery()
		changed()
	}}
}

func (c *typeChanges) noteChange() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.since.IsZero() {
		c.since = now
	}
	if c.timers == nil {
		for _, delay := range settlingTimes {
			c.timers = append(c.timers, time.AfterFunc(delay, c.settle))
		}
		return
	}
	// Two controllers that fight over a definition must not postpone the reading forever.
	restless := now.Sub(c.since) >= settlingTimes[1]
	for i, delay := range settlingTimes {
		if i > 0 || !restless {
			c.timers[i].Reset(delay)
		}
	}
}

func (c *typeChanges) settle() {
	c.mu.Lock()
	c.since = time.Time{}
	c.mu.Unlock()
	c.settled()
}
