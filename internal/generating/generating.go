// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// Key is the key of a value in the context that generators are called with.
type Key[T any] struct {
	// name is for messages, field is that of generator.Surroundings.
	name, field string
}

// The values that package generator returns.
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
	// ReleaseHooks demands objects with the annotation release-hook, which the caller must not apply with the others.
	ReleaseHooks = Key[bool]{"release hooks", "ReleaseHooks"}
	// NoLocalLookup makes templates fail that call localLookup or one of its variants. Go code is not affected.
	NoLocalLookup = Key[bool]{"no local lookup", ""}
)

// With returns a context that has the value.
func (k Key[T]) With(ctx context.Context, value T) context.Context {
	return context.WithValue(ctx, k, value)
}

// From returns the value. It fails if there is none: a caller of a generator has not prepared the context, and a zero
// value (revision 0, say) would go wrong silently.
func (k Key[T]) From(ctx context.Context) (T, error) {
	value, ok := ctx.Value(k).(T)
	if ok {
		return value, nil
	}
	const advice = "the caller of the generator (a reconciler, or a unit test) has to set Surroundings.%s of generator.NewContext"
	err := fmt.Errorf("%s not found in context: "+advice, k.name, k.field)
	if k.field == Client.field || k.field == LocalClient.field {
		err = fmt.Errorf("%w; post-read hooks have no clients, and hooks of a deletion have none for a lost cluster", err)
	}
	return value, err
}

type clusterReadsKey struct{}

// ClusterReads records whether a cluster was looked into. It is safe for concurrent use.
type ClusterReads struct {
	reason    atomic.Pointer[string]
	discovery atomic.Pointer[string]
	outer     *ClusterReads
}

// TrackClusterReads returns a context that records in the returned ClusterReads whether a generator that is
// called with it takes a client from it, or looks into a cluster by other means, which it then reports with
// MarkClusterRead. If the given context is itself tracked, what is recorded here is recorded there as well.
func TrackClusterReads(ctx context.Context) (context.Context, *ClusterReads) {
	outer, _ := ctx.Value(clusterReadsKey{}).(*ClusterReads)
	reads := &ClusterReads{outer: outer}
	return context.WithValue(ctx, clusterReadsKey{}, reads), reads
}

// Any tells whether anything has been recorded so far.
func (r *ClusterReads) Any() bool {
	return r.reason.Load() != nil
}

// Reason says what was recorded first, for logs; empty if nothing was.
func (r *ClusterReads) Reason() string {
	if reason := r.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}

func (r *ClusterReads) record(reason string) {
	r.reason.CompareAndSwap(nil, &reason)
}

// Discovery returns the digest of the discovery information that was looked at; empty if none was.
func (r *ClusterReads) Discovery() string {
	if digest := r.discovery.Load(); digest != nil {
		return *digest
	}
	return ""
}

func markDiscovery(ctx context.Context, digest string) {
	reads, _ := ctx.Value(clusterReadsKey{}).(*ClusterReads)
	for ; reads != nil; reads = reads.outer {
		if before := reads.discovery.Swap(&digest); before != nil && *before != digest {
			// The result is made of two pictures, and fits neither of them.
			reads.record("the types of the cluster have changed in the meantime")
		}
	}
}

// MarkClusterRead records that a result must not be used again, and why. Without TrackClusterReads it does nothing.
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

// Warn adds a source of warnings, which may also have some later, when objects are completed. It must be safe for
// concurrent use. Without TrackWarnings it does nothing.
func Warn(ctx context.Context, source func() []string) {
	warnings, ok := ctx.Value(warningsKey{}).(*Warnings)
	if !ok {
		return
	}
	warnings.mu.Lock()
	defer warnings.mu.Unlock()
	warnings.sources = append(warnings.sources, source)
}

// All returns what there is until now, sorted.
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
