// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
)

// Context carries values for hooks and generators.
//
// Deprecated: use generator.NewContext, which has all values as fields of generator.Surroundings.
type Context interface {
	context.Context
	// WithReconcilerName sets what ReconcilerNameFromContext returns.
	WithReconcilerName(reconcilerName string) Context
	// WithLocalClient sets what LocalClientFromContext returns.
	WithLocalClient(clnt cluster.Client) Context
	// WithClient sets what ClientFromContext returns.
	WithClient(clnt cluster.Client) Context
	// WithComponent sets what ComponentFromContext returns.
	WithComponent(component Component) Context
	// WithComponentName sets what ComponentNameFromContext returns.
	WithComponentName(componentName string) Context
	// WithComponentNamespace sets what ComponentNamespaceFromContext returns.
	WithComponentNamespace(componentNamespace string) Context
	// WithComponentDigest sets what ComponentDigestFromContext returns.
	WithComponentDigest(componentDigest string) Context
	// WithComponentRevision sets what ComponentRevisionFromContext returns.
	WithComponentRevision(componentRevision int64) Context
	// WithInstalled sets what generator.InstalledFromContext returns. Defaults to whether the revision is greater than
	// 1.
	WithInstalled(installed bool) Context
}

// NewContext adds the methods of Context to a context.
//
// Deprecated: use generator.NewContext.
func NewContext(ctx context.Context) Context {
	return valueContext{ctx}
}

type valueContext struct {
	context.Context //nolint:containedctx // it is a context
}

func (c valueContext) WithReconcilerName(reconcilerName string) Context {
	return valueContext{generating.ReconcilerName.With(c, reconcilerName)}
}

func (c valueContext) WithLocalClient(clnt cluster.Client) Context {
	return valueContext{generating.LocalClient.With(c, clnt)}
}

func (c valueContext) WithClient(clnt cluster.Client) Context {
	return valueContext{generating.Client.With(c, clnt)}
}

func (c valueContext) WithComponent(component Component) Context {
	return valueContext{generating.Component.With(c, component)}
}

func (c valueContext) WithComponentName(componentName string) Context {
	return valueContext{generating.ComponentName.With(c, componentName)}
}

func (c valueContext) WithComponentNamespace(componentNamespace string) Context {
	return valueContext{generating.ComponentNamespace.With(c, componentNamespace)}
}

func (c valueContext) WithComponentDigest(componentDigest string) Context {
	return valueContext{generating.ComponentDigest.With(c, componentDigest)}
}

func (c valueContext) WithComponentRevision(componentRevision int64) Context {
	return valueContext{generating.ComponentRevision.With(c, componentRevision)}
}

func (c valueContext) WithInstalled(installed bool) Context {
	return valueContext{generating.Installed.With(c, installed)}
}

// ReconcilerNameFromContext returns the name of the reconciler. It is set for all hooks and for generators.
func ReconcilerNameFromContext(ctx context.Context) (string, error) {
	return generator.ReconcilerNameFromContext(ctx)
}

// LocalClientFromContext returns a client for the cluster of the component, without a cache. It is set for generators,
// and for all hooks except post-read hooks.
func LocalClientFromContext(ctx context.Context) (cluster.Client, error) {
	return generator.LocalClientFromContext(ctx)
}

// ClientFromContext returns a client for the cluster of the dependents, without a cache, with the identity that writes
// them. It is set for generators, and for all hooks except post-read hooks.
func ClientFromContext(ctx context.Context) (cluster.Client, error) {
	return generator.ClientFromContext(ctx)
}

// ComponentFromContext returns a copy of the component. It is set for generators. The result of a generator may be
// reused while only the status, or metadata other than labels and annotations, changes.
func ComponentFromContext(ctx context.Context) (Component, error) {
	found, err := generator.ComponentFromContext(ctx)
	if err != nil {
		return nil, err
	}
	component, ok := found.(Component)
	if !ok {
		return nil, fmt.Errorf("component in context has type %T, which is not a component", found)
	}
	return component, nil
}

// ComponentNameFromContext returns the name of the component. It is set for generators.
func ComponentNameFromContext(ctx context.Context) (string, error) {
	return generator.ComponentNameFromContext(ctx)
}

// ComponentNamespaceFromContext returns the namespace of the component. It is set for generators.
func ComponentNamespaceFromContext(ctx context.Context) (string, error) {
	return generator.ComponentNamespaceFromContext(ctx)
}

// ComponentDigestFromContext returns the digest of the component's declaration; see Status.ProcessingDigest. It is set
// for generators.
func ComponentDigestFromContext(ctx context.Context) (string, error) {
	return generator.ComponentDigestFromContext(ctx)
}

// ComponentRevisionFromContext returns the revision of the component; see Status.Revision. It is set for generators.
func ComponentRevisionFromContext(ctx context.Context) (int64, error) {
	return generator.ComponentRevisionFromContext(ctx)
}
