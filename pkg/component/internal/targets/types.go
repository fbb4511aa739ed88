// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"sync"
	"time"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
)

// settlingTimes are how long after the last change of a definition it is looked what types there are: soon, for usually they
// are served by then, and once more, since the server needs some seconds to say so of those that another server serves.
var settlingTimes = []time.Duration{time.Second, 10 * time.Second}

// typeChanges joins changes of types that come in short succession.
type typeChanges struct {
	settled func()

	mu     sync.Mutex
	timers []*time.Timer
	// since is when the first change happened that has not settled yet; zero if there is none.
	since time.Time
}

// newTypeChanges has what is remembered of the types of a cluster forgotten when they have changed, and changed called when that has settled.
func newTypeChanges(clnt cluster.Client, changed func()) *typeChanges {
	return &typeChanges{settled: func() {
		generating.InvalidateDiscovery(clnt)
		changed()
	}}
}

func (c *typeChanges) happened() {
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
	// Two who fight over a definition must not keep everybody from looking.
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
