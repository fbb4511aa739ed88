// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"context"
	"sync/atomic"
)

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
