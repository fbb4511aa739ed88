// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
)

// Surroundings are the values that the ...FromContext functions return. A generator fails if it asks for a client or
// for the component, and that is nil.
type Surroundings struct {
	// ReconcilerName is the prefix of annotations.
	ReconcilerName string
	// Client is for the cluster in which the generated objects will live, LocalClient for the one in which the
	// component lives.
	Client, LocalClient cluster.Client
	// Discovery is called for the discovery information, instead of reading it with Client. It may be nil.
	Discovery func(ctx context.Context) (*cluster.Discovery, error)
	// Component is the component that the objects are generated for.
	Component client.Object
	// ComponentNamespace and ComponentName are those of the component, ComponentDigest is a digest over all that it
	// declares.
	ComponentNamespace, ComponentName, ComponentDigest string
	// ComponentRevision starts at 1 and grows by one with each change of the component.
	ComponentRevision int64
	// Installed reports that all objects of the component were ready at least once, in an earlier revision.
	Installed bool
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
	if s.ReleaseHooks {
		ctx = generating.ReleaseHooks.With(ctx, true)
	}
	return generating.Installed.With(ctx, s.Installed)
}
