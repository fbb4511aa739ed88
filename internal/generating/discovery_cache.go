// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"context"
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
	// watched counts who watches the types of the clusters, by their hosts.
	watched map[string]int
}

// discoveryEntry is protected by the mutex of the cache, except reading, which is held by who talks to the
// API server.
type discoveryEntry struct {
	reading chan struct{}
	// host is the address of the API server. Who shares it need not be the same cluster, nor the same user, so
	// it serves for invalidation only.
	host string

	value      *cluster.Discovery
	readAt     time.Time
	usedAt     time.Time
	generation int
}

func newDiscoveryCache(now func() time.Time) *discoveryCache {
	return &discoveryCache{now: now, entries: map[discovery.DiscoveryInterface]*discoveryEntry{}, watched: map[string]int{}}
}

func (c *discoveryCache) get(ctx context.Context, clnt discovery.DiscoveryInterface, host string) (*cluster.Discovery, error) {
	if !cacheable(clnt) {
		return readDiscovery(ctx, clnt)
	}
	entry := c.entry(clnt, host)
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
	c.store(entry, value, generation)
	return value, nil
}

func (c *discoveryCache) entry(clnt discovery.DiscoveryInterface, host string) *discoveryEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	entry, ok := c.entries[clnt]
	if !ok {
		for other, unused := range c.entries {
			if now.Sub(unused.usedAt) > discoveryRetention {
				delete(c.entries, other)
			}
		}
		entry = &discoveryEntry{reading: make(chan struct{}, 1), host: host}
		c.entries[clnt] = entry
	}
	entry.usedAt = now
	return entry
}

func (c *discoveryCache) current(entry *discoveryEntry) (*cluster.Discovery, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry.value == nil || c.now().Sub(entry.readAt) >= c.lifetime(entry) {
		return nil, entry.generation
	}
	return entry.value, entry.generation
}

// store drops the value if it was invalidated while it was read.
func (c *discoveryCache) store(entry *discoveryEntry, value *cluster.Discovery, generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry.generation != generation {
		return
	}
	entry.value, entry.readAt = value, c.now()
}

func (c *discoveryCache) lifetime(entry *discoveryEntry) time.Duration {
	switch {
	case len(entry.value.Failed) > 0:
		return brokenDiscoveryLifetime
	case c.watched[entry.host] > 0:
		return watchedDiscoveryLifetime
	default:
		return discoveryLifetime
	}
}

// keep notes whether the types of a cluster are watched. What was read before they were may be outdated without anybody
// noticing.
func (c *discoveryCache) keep(host string, watched bool) {
	if watched {
		c.invalidate(nil, host)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case host == "":
	case watched:
		c.watched[host]++
	case c.watched[host] > 1:
		// The same cluster is watched by others.
		c.watched[host]--
	default:
		delete(c.watched, host)
	}
}

// forget drops the entry of a client.
func (c *discoveryCache) forget(clnt discovery.DiscoveryInterface) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cacheable(clnt) {
		delete(c.entries, clnt)
	}
}

// invalidate concerns the given client and all that have the same host.
func (c *discoveryCache) invalidate(clnt discovery.DiscoveryInterface, host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, entry := range c.entries {
		if (cacheable(clnt) && other == clnt) || (host != "" && entry.host == host) {
			entry.value = nil
			entry.generation++
		}
	}
}
