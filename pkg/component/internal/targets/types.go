// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"sync"
	"time"

	"github.com/component-operator/runtime/internal/generating"
)

// Types are read again a second after a change of a definition, when they are usually served, and after ten, because the
// API server reports aggregated types seconds later.
const firstLook, lastLook = time.Second, 10 * time.Second

// typeChanges combines changes of types in quick succession.
type typeChanges struct {
	settled func()

	mu sync.Mutex
	// pending is set until the last look; again if a change has come meanwhile.
	pending, again bool
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
	if c.pending {
		c.again = true
		return
	}
	c.pending = true
	time.AfterFunc(firstLook, c.settled)
	time.AfterFunc(lastLook, func() {
		c.mu.Lock()
		again := c.again
		c.pending, c.again = false, false
		c.mu.Unlock()
		c.settled()
		if again {
			c.noteChange()
		}
	})
}
