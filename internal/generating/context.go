// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
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
		const advice = "the caller of the generator (a reconciler, or a unit test) has to set Surroundings.%s of generator.NewContext"
		err := fmt.Errorf("%s not found in context: "+advice, key, fields[key])
		if key == clientKey || key == localClientKey {
			err = fmt.Errorf("%w; post-read hooks have no clients, and hooks of a deletion have none for a lost cluster", err)
		}
		return value, err
	}
	return value, nil
}

// fields are those of generator.Surroundings that set the values without which fromContext fails.
var fields = map[contextKey]string{
	reconcilerNameKey:     "ReconcilerName",
	localClientKey:        "LocalClient",
	clientKey:             "Client",
	componentKey:          "Component",
	componentNameKey:      "ComponentName",
	componentNamespaceKey: "ComponentNamespace",
	componentDigestKey:    "ComponentDigest",
	componentRevisionKey:  "ComponentRevision",
	installedKey:          "Installed",
}

// WithReconcilerName sets what ReconcilerNameFromContext returns.
func WithReconcilerName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, reconcilerNameKey, name)
}

// ReconcilerNameFromContext returns what WithReconcilerName has set.
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

// LocalClientFromContext returns what WithLocalClient has set. It records that a cluster was read.
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

// ClientFromContext returns what WithClient has set. It records that a cluster was read.
func ClientFromContext(ctx context.Context) (cluster.Client, error) {
	clnt, err := fromContext[cluster.Client](ctx, clientKey)
	if err == nil {
		markClusterRead(ctx, "the client was taken from the context, to look objects up, for instance")
	}
	return clnt, err
}

// TargetScheme returns the scheme of the client of WithClient, or nil if there is none. It does not record that a cluster was read.
func TargetScheme(ctx context.Context) *runtime.Scheme {
	clnt, err := fromContext[cluster.Client](ctx, clientKey)
	if err != nil {
		return nil
	}
	return clnt.Scheme()
}

// WithComponent sets what ComponentFromContext returns.
func WithComponent(ctx context.Context, component client.Object) context.Context {
	return context.WithValue(ctx, componentKey, component)
}

// ComponentFromContext returns what WithComponent has set.
func ComponentFromContext(ctx context.Context) (client.Object, error) {
	return fromContext[client.Object](ctx, componentKey)
}

// WithComponentName sets what ComponentNameFromContext returns.
func WithComponentName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, componentNameKey, name)
}

// ComponentNameFromContext returns what WithComponentName has set.
func ComponentNameFromContext(ctx context.Context) (string, error) {
	return fromContext[string](ctx, componentNameKey)
}

// WithComponentNamespace sets what ComponentNamespaceFromContext returns.
func WithComponentNamespace(ctx context.Context, namespace string) context.Context {
	return context.WithValue(ctx, componentNamespaceKey, namespace)
}

// ComponentNamespaceFromContext returns what WithComponentNamespace has set.
func ComponentNamespaceFromContext(ctx context.Context) (string, error) {
	return fromContext[string](ctx, componentNamespaceKey)
}

// WithComponentDigest sets what ComponentDigestFromContext returns.
func WithComponentDigest(ctx context.Context, digest string) context.Context {
	return context.WithValue(ctx, componentDigestKey, digest)
}

// ComponentDigestFromContext returns what WithComponentDigest has set.
func ComponentDigestFromContext(ctx context.Context) (string, error) {
	return fromContext[string](ctx, componentDigestKey)
}

// WithComponentRevision sets what ComponentRevisionFromContext returns.
func WithComponentRevision(ctx context.Context, revision int64) context.Context {
	return context.WithValue(ctx, componentRevisionKey, revision)
}

// ComponentRevisionFromContext returns what WithComponentRevision has set.
func ComponentRevisionFromContext(ctx context.Context) (int64, error) {
	return fromContext[int64](ctx, componentRevisionKey)
}

// WithInstalled sets what InstalledFromContext returns.
func WithInstalled(ctx context.Context, installed bool) context.Context {
	return context.WithValue(ctx, installedKey, installed)
}

// InstalledFromContext returns what WithInstalled has set; otherwise whether WithComponentRevision has set a revision after the first one.
func InstalledFromContext(ctx context.Context) (bool, error) {
	installed, err := fromContext[bool](ctx, installedKey)
	if err != nil {
		if revision, missing := ComponentRevisionFromContext(ctx); missing == nil {
			return revision > 1, nil
		}
	}
	return installed, err
}

// WithReleaseHooks makes that ReleaseHooksFromContext returns true. Whoever sets it must take the objects out that have the annotation
// release-hook, since they must not be applied with the others.
func WithReleaseHooks(ctx context.Context) context.Context {
	return context.WithValue(ctx, releaseHooksKey, true)
}

// ReleaseHooksFromContext reports whether the context is one of WithReleaseHooks.
func ReleaseHooksFromContext(ctx context.Context) bool {
	wanted, err := fromContext[bool](ctx, releaseHooksKey)
	return err == nil && wanted
}
