// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generating is for callers of generators: it puts values into the context that package generator returns,
// caches the discovery information of clusters, and records whether a generator has read from a cluster.
package generating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/secrets"
)

// Key is the key of a value in the context that generators are called with.
type Key[T any] struct {
	// name is for messages, field is that of generator.Surroundings.
	name, field string
}

// The keys of the values that package generator returns.
var (
	ReconcilerName     = Key[string]{"reconciler name", "ReconcilerName"}
	LocalClient        = Key[cluster.Client]{"local client", "LocalClient"}
	Client             = Key[cluster.Client]{"client", "Client"}
	Discovery          = Key[func(ctx context.Context) (*cluster.Discovery, error)]{"discovery", "Discovery"}
	Component          = Key[client.Object]{"component", "Component"}
	ComponentName      = Key[string]{"component name", "ComponentName"}
	ComponentNamespace = Key[string]{"component namespace", "ComponentNamespace"}
	ComponentDigest    = Key[string]{"component digest", "ComponentDigest"}
	ComponentRevision  = Key[int64]{"component revision", "ComponentRevision"}
	Installed          = Key[bool]{"installation state", "Installed"}
	// Secrets is the source of generated secrets.
	Secrets = Key[*secrets.Source]{"source of generated secrets", "Secrets"}
	// ReleaseHooks demands objects with the annotation release-hook, which the caller must not apply with the others.
	ReleaseHooks = Key[bool]{"release hooks", "ReleaseHooks"}
	// NoLocalLookup makes templates fail that call localLookup or one of its variants. Go code is not affected.
	NoLocalLookup = Key[bool]{"no local lookup", ""}
)

// With returns a context that has the value.
func (k Key[T]) With(ctx context.Context, value T) context.Context {
	return context.WithValue(ctx, k, value)
}

// From returns the value. It fails if there is none: then the caller of the generator has not prepared the context, and
// a zero value, such as revision 0, would be wrong without notice.
func (k Key[T]) From(ctx context.Context) (T, error) {
	value, ok := ctx.Value(k).(T)
	if ok {
		return value, nil
	}
	const advice = "the caller of the generator (a reconciler, or a unit test) has to set Surroundings.%s of generator.NewContext"
	err := fmt.Errorf("%s not found in context: "+advice, k.name, k.field)
	if k.field == Secrets.field {
		err = fmt.Errorf("%w; reconcilers need the option GeneratedSecrets for it", err)
	}
	if k.field == Client.field || k.field == LocalClient.field {
		err = fmt.Errorf("%w; post-read hooks have no clients, and hooks of a deletion have none for a lost cluster", err)
	}
	return value, err
}

type clusterReadsKey struct{}

// ClusterReads records whether a generator has read from a cluster. It is safe for concurrent use.
type ClusterReads struct {
	reason    atomic.Pointer[string]
	discovery atomic.Pointer[string]
	outer     *ClusterReads
}

// TrackClusterReads returns a context that records in the returned ClusterReads whether a generator takes a client from
// it, or reports with MarkClusterRead that it has read from a cluster by other means. If the given context is itself
// tracked, its ClusterReads records the same.
func TrackClusterReads(ctx context.Context) (context.Context, *ClusterReads) {
	outer, _ := ctx.Value(clusterReadsKey{}).(*ClusterReads)
	reads := &ClusterReads{outer: outer}
	return context.WithValue(ctx, clusterReadsKey{}, reads), reads
}

// Any reports whether anything has been recorded so far.
func (r *ClusterReads) Any() bool {
	return r.reason.Load() != nil
}

// Reason returns the first recorded reason, for logs; empty if there is none.
func (r *ClusterReads) Reason() string { return ptr.Deref(r.reason.Load(), "") }

func (r *ClusterReads) record(reason string) {
	r.reason.CompareAndSwap(nil, &reason)
}

// Discovery returns the digest of the discovery information that was used; empty if none was used.
func (r *ClusterReads) Discovery() string { return ptr.Deref(r.discovery.Load(), "") }

func markDiscovery(ctx context.Context, digest string) {
	reads, _ := ctx.Value(clusterReadsKey{}).(*ClusterReads)
	for ; reads != nil; reads = reads.outer {
		if before := reads.discovery.Swap(&digest); before != nil && *before != digest {
			// The result is based on two states, and matches neither of them.
			reads.record("the types of the cluster have changed in the meantime")
		}
	}
}

// MarkClusterRead records that a result must not be reused, and why. Without TrackClusterReads, it does nothing.
func MarkClusterRead(ctx context.Context, reason string) {
	reads, _ := ctx.Value(clusterReadsKey{}).(*ClusterReads)
	for ; reads != nil; reads = reads.outer {
		reads.record(reason)
	}
}

type warningsKey struct{}

// Warnings collects the warnings of generators. It is safe for concurrent use.
type Warnings struct {
	mu      sync.Mutex
	sources []func() []string
}

// TrackWarnings returns a context that collects the warnings of generators that are called with it.
func TrackWarnings(ctx context.Context) (context.Context, *Warnings) {
	warnings := &Warnings{}
	return context.WithValue(ctx, warningsKey{}, warnings), warnings
}

// Warn adds a source of warnings. The source may have more warnings later, when objects are completed. It must be safe
// for concurrent use. Without TrackWarnings it does nothing.
func Warn(ctx context.Context, source func() []string) {
	warnings, ok := ctx.Value(warningsKey{}).(*Warnings)
	if !ok {
		return
	}
	warnings.mu.Lock()
	defer warnings.mu.Unlock()
	warnings.sources = append(warnings.sources, source)
}

// All returns the distinct warnings so far, sorted.
func (w *Warnings) All() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, source := range w.sources {
		all = append(all, source()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// DiscoveryFromContext returns the result of the function Discovery in the context, or else the discovery information
// of the cluster of the Client. Reading the latter takes three requests; it is cached for some minutes, or until
// InvalidateDiscovery is called. It is recorded in ClusterReads.Discovery, and not in ClusterReads.Any.
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

// InvalidateDiscovery invalidates the cached information about all clusters. It must be called when types are added to
// or removed from one of them, or a watch of types begins.
func InvalidateDiscovery() { discoveries.invalidate() }

const (
	// discoveryLifetime is the maximum time until a chart sees a type that was added to the cluster.
	discoveryLifetime = 5 * time.Minute
	// brokenDiscoveryLifetime applies while a part of the API is broken, because it is probably repaired soon.
	brokenDiscoveryLifetime = time.Minute
	// discoveryRetention is how long the information of an unused connection is kept.
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

// sortedResources returns sorted copies, since fakes and caching discovery clients return their own objects.
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
