// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// contextKey identifies a value in the context that generators are called with.
type contextKey string

const (
	reconcilerNameKey     contextKey = "reconciler name"
	localClientKey        contextKey = "local client"
	clientKey             contextKey = "client"
	discoveryKey          contextKey = "discovery"
	componentKey          contextKey = "component"
	componentNameKey      contextKey = "component name"
	componentNamespaceKey contextKey = "component namespace"
	componentDigestKey    contextKey = "component digest"
	componentRevisionKey  contextKey = "component revision"
	installedKey          contextKey = "installation state"
	releaseHooksKey       contextKey = "release hooks"
	noLocalLookupKey      contextKey = "no local lookup"
)

// fromContext fails if there is no value, since its absence means that somebody calls a generator without
// preparing the context, and a zero value (revision 0, say) would go wrong silently.
func fromContext[T any](ctx context.Context, key contextKey) (T, error) {
	value, ok := ctx.Value(key).(T)
	if !ok {
		return value, errors.New(string(key) + " not found in context")
	}
	return value, nil
}

// WithReconcilerName sets what ReconcilerNameFromContext returns.
func WithReconcilerName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, reconcilerNameKey, name)
}

// ReconcilerNameFromContext returns the name of the reconciler, which is the prefix of all its annotations.
func ReconcilerNameFromContext(ctx context.Context) (string, error) {
	return fromContext[string](ctx, reconcilerNameKey)
}

// WithLocalClient sets what LocalClientFromContext returns.
func WithLocalClient(ctx context.Context, clnt cluster.Client) context.Context {
	return context.WithValue(ctx, localClientKey, clnt)
}

// WithoutLocalLookup has templates fail that call localLookup or one of its relatives. Go code is not concerned.
func WithoutLocalLookup(ctx context.Context) context.Context {
	return context.WithValue(ctx, noLocalLookupKey, true)
}

// LocalLookupDisabled reports whether the context is one of WithoutLocalLookup.
func LocalLookupDisabled(ctx context.Context) bool {
	disabled, _ := ctx.Value(noLocalLookupKey).(bool)
	return disabled
}

// LocalClientFromContext returns a client for the cluster in which the component lives. Taking it marks the
// result of the generator as dependent on the cluster (see TrackClusterReads).
func LocalClientFromContext(ctx context.Context) (cluster.Client, error) {
	clnt, err := fromContext[cluster.Client](ctx, localClientKey)
	if err == nil {
		markClusterRead(ctx, "the local client was taken from the context")
	}
	return clnt, err
}

// WithClient sets what ClientFromContext and DiscoveryFromContext use.
func WithClient(ctx context.Context, clnt cluster.Client) context.Context {
	return context.WithValue(ctx, clientKey, clnt)
}

// ClientFromContext returns a client for the cluster in which the generated objects will live. Taking it marks
// the result of the generator as dependent on the cluster (see TrackClusterReads).
func ClientFromContext(ctx context.Context) (cluster.Client, error) {
	clnt, err := fromContext[cluster.Client](ctx, clientKey)
	if err == nil {
		markClusterRead(ctx, "the client was taken from the context, to look objects up, for instance")
	}
	return clnt, err
}

// WithComponent sets what ComponentFromContext returns.
func WithComponent(ctx context.Context, component client.Object) context.Context {
	return context.WithValue(ctx, componentKey, component)
}

// ComponentFromContext returns the component that the generator is called for, which must not be changed. What a generator
// returns may be used again when only the status, or metadata other than labels and annotations, has changed.
func ComponentFromContext(ctx context.Context) (client.Object, error) {
	return fromContext[client.Object](ctx, componentKey)
}

// WithComponentName sets what ComponentNameFromContext returns.
func WithComponentName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, componentNameKey, name)
}

// ComponentNameFromContext returns the name of the component itself, which may differ from the one that the
// generator is called with.
func ComponentNameFromContext(ctx context.Context) (string, error) {
	return fromContext[string](ctx, componentNameKey)
}

// WithComponentNamespace sets what ComponentNamespaceFromContext returns.
func WithComponentNamespace(ctx context.Context, namespace string) context.Context {
	return context.WithValue(ctx, componentNamespaceKey, namespace)
}

// ComponentNamespaceFromContext returns the namespace of the component itself, which may differ from the one
// that the generator is called with.
func ComponentNamespaceFromContext(ctx context.Context) (string, error) {
	return fromContext[string](ctx, componentNamespaceKey)
}

// WithComponentDigest sets what ComponentDigestFromContext returns.
func WithComponentDigest(ctx context.Context, digest string) context.Context {
	return context.WithValue(ctx, componentDigestKey, digest)
}

// ComponentDigestFromContext returns a digest over all that the component declares, including what it references.
func ComponentDigestFromContext(ctx context.Context) (string, error) {
	return fromContext[string](ctx, componentDigestKey)
}

// WithComponentRevision sets what ComponentRevisionFromContext returns.
func WithComponentRevision(ctx context.Context, revision int64) context.Context {
	return context.WithValue(ctx, componentRevisionKey, revision)
}

// ComponentRevisionFromContext returns a number that starts at 1 and grows by one with each change of the component.
func ComponentRevisionFromContext(ctx context.Context) (int64, error) {
	return fromContext[int64](ctx, componentRevisionKey)
}

// WithInstalled sets what InstalledFromContext returns.
func WithInstalled(ctx context.Context, installed bool) context.Context {
	return context.WithValue(ctx, installedKey, installed)
}

// InstalledFromContext tells whether the component was completely installed, that is, whether all its objects
// were ready at least once, in an earlier revision. As long as they were not, a change of the component is still
// part of its installation. The value stays the same throughout a revision, including the one that completes
// the installation: if it changed at that moment, generators that distinguish installation and upgrade would
// yield something else without any change of the component.
func InstalledFromContext(ctx context.Context) (bool, error) {
	return fromContext[bool](ctx, installedKey)
}

// WithReleaseHooks makes that ReleaseHooksFromContext returns true. Whoever sets it must take the objects out that have the annotation
// release-hook, since they must not be applied with the others.
func WithReleaseHooks(ctx context.Context) context.Context {
	return context.WithValue(ctx, releaseHooksKey, true)
}

// ReleaseHooksFromContext tells whether generators shall also return what a release needs when it is tested or rolled back, marked by the
// annotation release-hook. Contrary to the other values, it need not be set; operators do not.
func ReleaseHooksFromContext(ctx context.Context) bool {
	wanted, err := fromContext[bool](ctx, releaseHooksKey)
	return err == nil && wanted
}
