// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/cluster"
)

// DiscoveryFromContext returns what the function Discovery of the context returns, or the discovery information of the
// cluster of the Client. Three requests read that; it is cached for some minutes, or until InvalidateDiscovery is
// called. It is recorded in ClusterReads.Discovery, and not in ClusterReads.Any.
func DiscoveryFromContext(ctx context.Context) (*cluster.Discovery, error) {
	found, err := findDiscovery(ctx)
	if err != nil {
		return nil, err
	}
	markDiscovery(ctx, found.Digest)
	return found, nil
}

func findDiscovery(ctx context.Context) (*cluster.Discovery, error) {
	if find, err := Discovery.From(ctx); err == nil {
		return find(ctx)
	}
	clnt, err := Client.From(ctx)
	if err != nil {
		return nil, err
	}
	return discoveries.get(ctx, clnt.DiscoveryClient())
}

// InvalidateDiscovery forgets what is remembered about all clusters. It is to be called when types were added to or removed
// from one of them, or when they begin to be watched.
func InvalidateDiscovery() { discoveries.invalidate() }

const (
	// discoveryLifetime bounds how long a chart may not notice that a type was added to the cluster.
	discoveryLifetime = 5 * time.Minute
	// brokenDiscoveryLifetime applies while a part of the API is broken, which is expected to be repaired.
	brokenDiscoveryLifetime = time.Minute
	// discoveryRetention is the time after which a connection that is no longer used is forgotten.
	discoveryRetention = 15 * time.Minute
)

var discoveries = newDiscoveryCache(time.Now)

func readDiscovery(ctx context.Context, clnt discovery.DiscoveryInterface) (*cluster.Discovery, error) {
	if clnt == nil {
		return nil, errors.New("the client of the target cluster offers no discovery")
	}
	contextual := discovery.ToDiscoveryInterfaceWithContext(clnt)
	info, err := contextual.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the version of the API server: %w", err)
	}
	groups, resources, err := discovery.ServerGroupsAndResourcesWithContext(ctx, contextual)
	broken, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, fmt.Errorf("reading the resources of the API server: %w", err)
	}

	result := &cluster.Discovery{Version: *info, Resources: sortedResources(resources)}
	for _, group := range groups {
		for _, version := range group.Versions {
			result.GroupVersions = append(result.GroupVersions, version.GroupVersion)
		}
	}
	for groupVersion := range broken {
		result.Failed = append(result.Failed, groupVersion.String())
	}
	slices.Sort(result.Failed)
	// Aggregated discovery hides broken API versions. They must not vanish, or else charts that check for them
	// would stop rendering their objects as long as the API is broken, and these would be deleted.
	result.GroupVersions = append(result.GroupVersions, result.Failed...)
	slices.Sort(result.GroupVersions)
	result.GroupVersions = slices.Compact(result.GroupVersions)
	// The error texts of broken groups are left out, because they change from one attempt to the next.
	if result.Digest, err = manifest.Digest(result); err != nil {
		return nil, err
	}
	return result, nil
}

// sortedResources returns sorted copies, since fakes and caching discovery clients return what they keep.
func sortedResources(lists []*metav1.APIResourceList) []*metav1.APIResourceList {
	sorted := make([]*metav1.APIResourceList, 0, len(lists))
	for _, list := range lists {
		if list == nil {
			continue
		}
		list = list.DeepCopy()
		slices.SortStableFunc(list.APIResources, func(a, b metav1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
		sorted = append(sorted, list)
	}
	slices.SortStableFunc(sorted, func(a, b *metav1.APIResourceList) int { return cmp.Compare(a.GroupVersion, b.GroupVersion) })
	return sorted
}

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
