// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"
	"errors"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
)

// ReconcilerNameFromContext returns the name of the reconciler, which is the prefix of all its annotations.
func ReconcilerNameFromContext(ctx context.Context) (string, error) {
	return generating.ReconcilerName.From(ctx)
}

// LocalClientFromContext returns a client for the cluster in which the component lives. Taking it marks the
// result of the generator as dependent on the cluster (see [MarkClusterRead]).
func LocalClientFromContext(ctx context.Context) (cluster.Client, error) {
	clnt, err := generating.LocalClient.From(ctx)
	if err == nil {
		generating.MarkClusterRead(ctx, "the local client was taken from the context")
	}
	return clnt, err
}

// ClientFromContext returns a client for the cluster in which the generated objects will live. Taking it marks
// the result of the generator as dependent on the cluster (see [MarkClusterRead]).
func ClientFromContext(ctx context.Context) (cluster.Client, error) {
	clnt, err := generating.Client.From(ctx)
	if err == nil {
		generating.MarkClusterRead(ctx, "the client was taken from the context, to look objects up, for instance")
	}
	return clnt, err
}

// ComponentFromContext returns the component that the generator is called for, which must not be changed. The result of
// a generator may be used again when only the status, or metadata other than labels and annotations, has changed.
func ComponentFromContext(ctx context.Context) (client.Object, error) {
	return generating.Component.From(ctx)
}

// ComponentNameFromContext returns the name of the component itself, which may differ from the one that the
// generator is called with.
func ComponentNameFromContext(ctx context.Context) (string, error) {
	return generating.ComponentName.From(ctx)
}

// ComponentNamespaceFromContext returns the namespace of the component itself, which may differ from the one
// that the generator is called with.
func ComponentNamespaceFromContext(ctx context.Context) (string, error) {
	return generating.ComponentNamespace.From(ctx)
}

// ComponentDigestFromContext returns a digest over all that the component declares, including what it references.
func ComponentDigestFromContext(ctx context.Context) (string, error) {
	return generating.ComponentDigest.From(ctx)
}

// ComponentRevisionFromContext returns a number that starts at 1 and grows by one with each change of the component.
func ComponentRevisionFromContext(ctx context.Context) (int64, error) {
	return generating.ComponentRevision.From(ctx)
}

// InstalledFromContext reports whether the component was completely installed, that is, whether all its objects
// were ready at least once, in an earlier revision. Until then, a change of the component is still
// part of its installation. The value does not change during a revision, not even when the revision completes
// the installation: otherwise generators that distinguish installation and upgrade would
// return other objects without any change of the component.
func InstalledFromContext(ctx context.Context) (bool, error) {
	installed, err := generating.Installed.From(ctx)
	if err != nil {
		if revision, missing := ComponentRevisionFromContext(ctx); missing == nil {
			return revision > 1, nil
		}
	}
	return installed, err
}

// ReleaseHooksFromContext reports whether generators must also return the objects that a release needs when it is
// tested or rolled back, marked by the annotation release-hook. It defaults to false; operators do not set it.
func ReleaseHooksFromContext(ctx context.Context) bool {
	wanted, err := generating.ReleaseHooks.From(ctx)
	return err == nil && wanted
}

// DiscoveryFromContext returns what the API server of the target cluster reports about itself. Three requests read it;
// the result is cached for some minutes, or until types are added to the cluster or removed. A registered API that does
// not answer is no error. Calling this function makes the result of the generator depend on this information only, not
// on the whole cluster: it needs no [MarkClusterRead].
func DiscoveryFromContext(ctx context.Context) (*cluster.Discovery, error) {
	return generating.DiscoveryFromContext(ctx)
}

// MarkClusterRead records that the result of the generator depends on the current state of a cluster, so that it is not
// used again. Taking a client from the context records that already. In a context that does not track reads, it does
// nothing.
func MarkClusterRead(ctx context.Context) {
	generating.MarkClusterRead(ctx, "the generator looked into a cluster")
}

// Annotate sets an annotation of the reconciler that the generator is called by: its key is the name of the reconciler,
// a slash and the suffix, such as types.AnnotationKeySuffixApplyOrder. The error says that the name is missing in the
// context. The reconciler refuses bad values, and warns about unknown suffixes.
func Annotate(ctx context.Context, object client.Object, suffix string, value string) error {
	name, err := ReconcilerNameFromContext(ctx)
	switch {
	case err != nil:
		return err
	case name == "":
		return errors.New("the reconciler has no name; set Surroundings.ReconcilerName of generator.NewContext")
	}
	all := maps.Clone(object.GetAnnotations())
	if all == nil {
		all = map[string]string{}
	}
	all[name+"/"+suffix] = value
	object.SetAnnotations(all)
	return nil
}
