// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/generator"
)

// surroundings are the values of the context that generators read; nil if missing. Clients are not among them: their requests
// become calls.
type surroundings struct {
	ReconcilerName     *string  `json:"reconcilerName"`
	ComponentName      *string  `json:"componentName"`
	ComponentNamespace *string  `json:"componentNamespace"`
	ComponentDigest    *string  `json:"componentDigest"`
	ComponentRevision  *int64   `json:"componentRevision"`
	Installed          *bool    `json:"installed"`
	ReleaseHooks       bool     `json:"releaseHooks"`
	AllowedTargets     []string `json:"allowedTargets"`
	NoLocalLookup      bool     `json:"noLocalLookup"`
	Component          *carried `json:"component"`
}

// found returns the result of a getter of the context.
func found[T any](ctx context.Context, get func(context.Context) (T, error)) *T {
	value, err := get(ctx)
	if err != nil {
		return nil
	}
	return &value
}

func surroundingsOf(ctx context.Context, known knownTypes) (surroundings, error) {
	s := surroundings{
		ReconcilerName:     found(ctx, generator.ReconcilerNameFromContext),
		ComponentName:      found(ctx, generator.ComponentNameFromContext),
		ComponentNamespace: found(ctx, generator.ComponentNamespaceFromContext),
		ComponentDigest:    found(ctx, generator.ComponentDigestFromContext),
		ComponentRevision:  found(ctx, generator.ComponentRevisionFromContext),
		Installed:          found(ctx, generator.InstalledFromContext),
		ReleaseHooks:       generator.ReleaseHooksFromContext(ctx),
		AllowedTargets:     clients.HostsFromContext(ctx),
		NoLocalLookup:      generating.LocalLookupDisabled(ctx),
	}
	component := found(ctx, generator.ComponentFromContext)
	if component == nil {
		return s, nil
	}
	var err error
	s.Component, err = known.pack("component", *component)
	return s, err
}

// restore adds a value to the context, if there is one.
func restore[T any](ctx context.Context, value *T, set func(context.Context, T) context.Context) context.Context {
	if value == nil {
		return ctx
	}
	return set(ctx, *value)
}

// context returns a context with the values.
func (s surroundings) context(ctx context.Context, known knownTypes) (context.Context, error) {
	ctx = restore(ctx, s.ReconcilerName, generating.WithReconcilerName)
	ctx = restore(ctx, s.ComponentName, generating.WithComponentName)
	ctx = restore(ctx, s.ComponentNamespace, generating.WithComponentNamespace)
	ctx = restore(ctx, s.ComponentDigest, generating.WithComponentDigest)
	ctx = restore(ctx, s.ComponentRevision, generating.WithComponentRevision)
	ctx = restore(ctx, s.Installed, generating.WithInstalled)
	if s.ReleaseHooks {
		ctx = generating.WithReleaseHooks(ctx)
	}
	if s.AllowedTargets != nil {
		ctx = clients.WithHosts(ctx, s.AllowedTargets)
	}
	if s.NoLocalLookup {
		ctx = generating.WithoutLocalLookup(ctx)
	}
	if s.Component == nil {
		return ctx, nil
	}
	component, err := known.unpackComponent(s.Component)
	if err != nil {
		return nil, err
	}
	return generating.WithComponent(ctx, component), nil
}
