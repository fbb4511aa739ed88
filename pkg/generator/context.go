// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
)

// ReconcilerNameFromContext returns the name of the reconciler, which is the prefix of all its annotations.
func ReconcilerNameFromContext(ctx context.Context) (string, error) {
	return generating.ReconcilerNameFromContext(ctx)
}

// LocalClientFromContext returns a client for the cluster in which the component lives. Taking it marks the
// result of the generator as dependent on the cluster (see [MarkClusterRead]).
func LocalClientFromContext(ctx context.Context) (cluster.Client, error) {
	return generating.LocalClientFromContext(ctx)
}

// ClientFromContext returns a client for the cluster in which the generated objects will live. Taking it marks
// the result of the generator as dependent on the cluster (see [MarkClusterRead]).
func ClientFromContext(ctx context.Context) (cluster.Client, error) {
	return generating.ClientFromContext(ctx)
}

// ComponentFromContext returns the component that the generator is called for, which must not be changed. What a generator
// returns may be used again when only the status, or metadata other than labels and annotations, has changed.
func ComponentFromContext(ctx context.Context) (client.Object, error) {
	return generating.ComponentFromContext(ctx)
}

// ComponentNameFromContext returns the name of the component itself, which may differ from the one that the
// generator is called with.
func ComponentNameFromContext(ctx context.Context) (string, error) {
	return generating.ComponentNameFromContext(ctx)
}

// ComponentNamespaceFromContext returns the namespace of the component itself, which may differ from the one
// that the generator is called with.
func ComponentNamespaceFromContext(ctx context.Context) (string, error) {
	return generating.ComponentNamespaceFromContext(ctx)
}

// ComponentDigestFromContext returns a digest over all that the component declares, including what it references.
func ComponentDigestFromContext(ctx context.Context) (string, error) {
	return generating.ComponentDigestFromContext(ctx)
}

// ComponentRevisionFromContext returns a number that starts at 1 and grows by one with each change of the component.
func ComponentRevisionFromContext(ctx context.Context) (int64, error) {
	return generating.ComponentRevisionFromContext(ctx)
}

// InstalledFromContext reports whether the component was completely installed, that is, whether all its objects
// were ready at least once, in an earlier revision. As long as they were not, a change of the component is still
// part of its installation. The value stays the same throughout a revision, including the one that completes
// the installation: if it changed at that moment, generators that distinguish installation and upgrade would
// yield something else without any change of the component.
func InstalledFromContext(ctx context.Context) (bool, error) {
	return generating.InstalledFromContext(ctx)
}

// ReleaseHooksFromContext reports whether generators shall also return what a release needs when it is tested or rolled back, marked by the
// annotation release-hook. Contrary to the other values, it need not be set; operators do not.
func ReleaseHooksFromContext(ctx context.Context) bool {
	return generating.ReleaseHooksFromContext(ctx)
}

// DiscoveryFromContext returns what the API server of the target cluster says about itself. Three requests read it; then it is remembered for
// some minutes, or until types are added to the cluster or removed. An API that is registered but broken is no error. Calling this
// function makes the result of the generator depend on this information, and not on the cluster as a whole: it needs no [MarkClusterRead].
func DiscoveryFromContext(ctx context.Context) (*cluster.Discovery, error) {
	return generating.DiscoveryFromContext(ctx)
}

// MarkClusterRead records that the result of the generator depends on the present state of a cluster, so that it is not used again.
// Taking a client from the context records that already. If nobody wants to know, it does nothing.
func MarkClusterRead(ctx context.Context) {
	generating.MarkClusterRead(ctx)
}
