// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generator defines generators, which turn the spec of a component into Kubernetes objects.
//
// A [Generator] gets the namespace and name of the component's dependents and the parameters (usually the spec), and
// returns the objects that should exist. The ...FromContext functions return more from the context: the component's
// revision, a client for the target cluster and so on. [NewContext] makes such a context for programs that call
// generators themselves.
//
// Package manifests has transformers and templates, and the packages below it have generators for charts and
// kustomizations, with the libraries that these need. This package needs none of them, and neither does an operator
// whose objects are written in Go.
//
// # Purity
//
// Generating may be expensive. So the result of a generator that implements [Pure] is reused until one of its inputs
// changes. The result of a call that has read from a cluster, other than by [DiscoveryFromContext], is not reused.
// Taking a client from the context counts as reading; [MarkClusterRead] reports other ways.
package generator

import (
	"context"
	"errors"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/secrets"
	"github.com/component-operator/runtime/pkg/types"
)

// Generator turns the parameters of a component into the objects that should exist in the cluster.
//
// An implementation may also implement [Pure] and [Versioned], and, if it returns typed objects that the scheme of the target client
// does not have, types.SchemeBuilder.
type Generator interface {
	// Generate returns the objects of a component. Namespace and name are those of its dependents.
	// A namespaced object without a namespace is put into the given one. Generate
	// must not change the parameters; the returned objects belong to the caller. It may be called concurrently.
	//
	// An error that is a types.RetriableError is temporary.
	Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)
}

// Versioned is implemented by generators whose objects have a version that means something to users, such as that of a
// chart.
type Versioned interface {
	// Version returns the version. It appears in the status of components that are ready with it.
	Version() string
}

// Conditioned is implemented by generators whose components have a condition for how well their dependents do their
// job.
type Conditioned interface {
	// Condition returns the type of the condition, such as "Available"; empty if there is none. It is True if all
	// dependents are ready, and False otherwise. The reason is their progress and, after the grace periods of
	// dependents (see behaviors.Graceful), their grade: Degraded or Down.
	Condition() string
}

// Func is a function used as Generator.
type Func func(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)

var _ Generator = Func(nil)

// Generate calls the function.
func (f Func) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	return f(ctx, namespace, name, parameters)
}

// Pure is implemented by generators and transformers whose result depends only on the arguments, the
// values in the context, and the discovery information of the target cluster.
type Pure interface {
	// Fingerprint identifies the code and data of the generator: two generators with the same
	// fingerprint return the same for the same input. If it is empty, the generator is not pure,
	// although its type may be.
	Fingerprint() string
}

// ReconcilerNameFromContext returns the name of the reconciler, which is the prefix of all its annotations.
func ReconcilerNameFromContext(ctx context.Context) (string, error) {
	return generating.ReconcilerName.From(ctx)
}

// LocalClientFromContext returns a client for the cluster of the component. Taking it marks the result of the generator
// as dependent on the cluster (see [MarkClusterRead]).
func LocalClientFromContext(ctx context.Context) (cluster.Client, error) {
	clnt, err := generating.LocalClient.From(ctx)
	if err == nil {
		generating.MarkClusterRead(ctx, "the local client was taken from the context")
	}
	return clnt, err
}

// ClientFromContext returns a client for the cluster of the generated objects. Taking it marks the result of the
// generator as dependent on the cluster (see [MarkClusterRead]).
func ClientFromContext(ctx context.Context) (cluster.Client, error) {
	clnt, err := generating.Client.From(ctx)
	if err == nil {
		generating.MarkClusterRead(ctx, "the client was taken from the context, to look objects up, for instance")
	}
	return clnt, err
}

// ComponentFromContext returns the component that the generator is called for, which must not be changed. The result of
// a generator may be reused when only the status, or metadata other than labels and annotations, has changed.
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

// ComponentDigestFromContext returns a digest of the component's declaration, including referenced content.
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

// SecretsFromContext returns the source of generated secrets. It fails unless the reconciler has the option
// GeneratedSecrets. Taking the source leaves a generator pure.
func SecretsFromContext(ctx context.Context) (*secrets.Source, error) {
	return generating.Secrets.From(ctx)
}

// DiscoveryFromContext returns the discovery information of the target cluster. Reading it takes three requests; the
// result is cached for some minutes, or until types are added to the cluster or removed. A registered API that does not
// answer is no error. Calling this function makes the result of the generator depend on this information only, not on
// the whole cluster: it needs no [MarkClusterRead].
func DiscoveryFromContext(ctx context.Context) (*cluster.Discovery, error) {
	return generating.DiscoveryFromContext(ctx)
}

// MarkClusterRead records that the result of the generator depends on the current state of a cluster, so that it is not
// reused. Taking a client from the context records this already. In a context that does not track reads, it does
// nothing.
func MarkClusterRead(ctx context.Context) {
	generating.MarkClusterRead(ctx, "the generator looked into a cluster")
}

// Annotate sets an annotation of the calling reconciler: its key is the name of the reconciler, a slash and the suffix,
// such as types.AnnotationKeySuffixApplyOrder. It fails if the context has no name. The reconciler refuses bad values,
// and warns about unknown suffixes.
func Annotate(ctx context.Context, object client.Object, suffix string, value string) error {
	name, err := ReconcilerNameFromContext(ctx)
	switch {
	case err != nil:
		return err
	case name == "":
		return errors.New("the reconciler has no name; set Surroundings.ReconcilerName of generator.NewContext")
	}
	all := map[string]string{}
	maps.Copy(all, object.GetAnnotations())
	all[name+"/"+suffix] = value
	object.SetAnnotations(all)
	return nil
}

// Surroundings are the values that the ...FromContext functions return. A generator fails if it requests a client or
// the component and this is nil.
type Surroundings struct {
	// ReconcilerName is the prefix of annotations.
	ReconcilerName string
	// Client is for the cluster of the generated objects, LocalClient for the cluster of the component.
	Client, LocalClient cluster.Client
	// Discovery is called for the discovery information, instead of reading it with Client. It may be nil.
	Discovery func(ctx context.Context) (*cluster.Discovery, error)
	// Component is the component that the objects are generated for.
	Component client.Object
	// ComponentNamespace and ComponentName are those of the component, ComponentDigest is the digest of its
	// declaration.
	ComponentNamespace, ComponentName, ComponentDigest string
	// ComponentRevision starts at 1 and grows by one with each change of the component.
	ComponentRevision int64
	// Installed reports that all objects of the component were ready at least once, in an earlier revision.
	Installed bool
	// Secrets is the source of generated secrets. It may be nil.
	Secrets *secrets.Source
	// ReleaseHooks makes the generator also return the objects for tests and rollbacks, with the annotation
	// release-hook. The caller must not apply them with the others.
	ReleaseHooks bool
}

// NewContext returns a context for a call of [Generator.Generate]. A component reconciler makes such a context by
// itself; this is for programs that call generators themselves, and for unit tests. Without it, the ...FromContext
// functions fail.
func NewContext(ctx context.Context, surroundings Surroundings) context.Context {
	s := surroundings
	ctx = generating.ReconcilerName.With(ctx, s.ReconcilerName)
	ctx = generating.ComponentNamespace.With(ctx, s.ComponentNamespace)
	ctx = generating.ComponentName.With(ctx, s.ComponentName)
	ctx = generating.ComponentDigest.With(ctx, s.ComponentDigest)
	ctx = generating.ComponentRevision.With(ctx, s.ComponentRevision)
	if s.Client != nil {
		ctx = generating.Client.With(ctx, s.Client)
	}
	if s.LocalClient != nil {
		ctx = generating.LocalClient.With(ctx, s.LocalClient)
	}
	if s.Component != nil {
		ctx = generating.Component.With(ctx, s.Component)
	}
	if s.Discovery != nil {
		ctx = generating.Discovery.With(ctx, s.Discovery)
	}
	if s.Secrets != nil {
		ctx = generating.Secrets.With(ctx, s.Secrets)
	}
	if s.ReleaseHooks {
		ctx = generating.ReleaseHooks.With(ctx, true)
	}
	return generating.Installed.With(ctx, s.Installed)
}
