// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"context"
	"reflect"
	"sync"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/component-operator/runtime/pkg/cluster"
)

// discoveryCache remembers one Discovery per discovery client. Concurrent callers for the same client share
// one reading.
type discoveryCache struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[discovery.DiscoveryInterface]*discoveryEntry
	// generation counts invalidations.
	generation int
}

// discoveryEntry is protected by the mutex of the cache, except reading, which is held during requests.
type discoveryEntry struct {
	reading        chan struct{}
	value          *cluster.Discovery
	generation     int // in which the value was read
	readAt, usedAt time.Time
}

func newDiscoveryCache(now func() time.Time) *discoveryCache {
	return &discoveryCache{now: now, entries: map[discovery.DiscoveryInterface]*discoveryEntry{}}
}

func (c *discoveryCache) get(ctx context.Context, clnt discovery.DiscoveryInterface) (*cluster.Discovery, error) {
	if clnt == nil || reflect.TypeOf(clnt).Kind() != reflect.Pointer {
		return readDiscovery(ctx, clnt) // it has no identity
	}
	entry := c.entry(clnt)
	if value, _ := c.current(entry); value != nil {
		return value, nil
	}
	select {
	case entry.reading <- struct{}{}:
		defer func() { <-entry.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// The previous holder of the entry may have left a result. Its failure is not shared: the reason may have
	// been its context.
	value, generation := c.current(entry)
	if value != nil {
		return value, nil
	}
	value, err := readDiscovery(ctx, clnt)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entry.value, entry.readAt, entry.generation = value, c.now(), generation
	return value, nil
}

func (c *discoveryCache) entry(clnt discovery.DiscoveryInterface) *discoveryEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.entries[clnt]
	if entry == nil {
		for other, unused := range c.entries {
			if c.now().Sub(unused.usedAt) > discoveryRetention {
				delete(c.entries, other)
			}
		}
		entry = &discoveryEntry{reading: make(chan struct{}, 1)}
		c.entries[clnt] = entry
	}
	entry.usedAt = c.now()
	return entry
}

// current returns the value, unless it is outdated, and the present generation.
func (c *discoveryCache) current(entry *discoveryEntry) (*cluster.Discovery, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry.value == nil || entry.generation != c.generation {
		return nil, c.generation
	}
	lifetime := discoveryLifetime
	if len(entry.value.Failed) > 0 {
		lifetime = brokenDiscoveryLifetime
	}
	if c.now().Sub(entry.readAt) >= lifetime {
		return nil, c.generation
	}
	return entry.value, c.generation
}

func (c *discoveryCache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
}
