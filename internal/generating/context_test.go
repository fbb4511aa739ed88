// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
)

func TestContextValues(t *testing.T) {
	t.Parallel()
	local, target := cluster.NewClient(nil, nil, nil, nil, nil), cluster.NewClient(nil, nil, nil, nil, nil)
	const advice = "the caller of the generator (a reconciler, or a unit test) has to set Surroundings.%s of generator.NewContext"
	full := t.Context()
	full = generating.WithReconcilerName(full, "demo.example.io")
	full = generating.WithLocalClient(full, local)
	full = generating.WithClient(full, target)
	component := &corev1.ConfigMap{}
	full = generating.WithComponent(full, component)
	full = generating.WithComponentName(full, "name")
	full = generating.WithComponentNamespace(full, "namespace")
	full = generating.WithComponentDigest(full, "digest")
	full = generating.WithComponentRevision(full, 7)
	full = generating.WithInstalled(full, true)

	tests := []struct {
		get  func(context.Context) (any, error)
		want any
		err  string
		// field is that of the surroundings that was forgotten.
		field string
	}{
		{func(ctx context.Context) (any, error) { return generating.ReconcilerNameFromContext(ctx) }, "demo.example.io", "reconciler name not found in context", "ReconcilerName"},
		{func(ctx context.Context) (any, error) { return generating.LocalClientFromContext(ctx) }, local, "local client not found in context", "LocalClient"},
		{func(ctx context.Context) (any, error) { return generating.ClientFromContext(ctx) }, target, "client not found in context", "Client"},
		{func(ctx context.Context) (any, error) { return generating.ComponentFromContext(ctx) }, component, "component not found in context", "Component"},
		{func(ctx context.Context) (any, error) { return generating.ComponentNameFromContext(ctx) }, "name", "component name not found in context", "ComponentName"},
		{func(ctx context.Context) (any, error) { return generating.ComponentNamespaceFromContext(ctx) }, "namespace", "component namespace not found in context", "ComponentNamespace"},
		{func(ctx context.Context) (any, error) { return generating.ComponentDigestFromContext(ctx) }, "digest", "component digest not found in context", "ComponentDigest"},
		{func(ctx context.Context) (any, error) { return generating.ComponentRevisionFromContext(ctx) }, int64(7), "component revision not found in context", "ComponentRevision"},
		{func(ctx context.Context) (any, error) { return generating.InstalledFromContext(ctx) }, true, "installation state not found in context", "Installed"},
	}
	for _, tt := range tests {
		t.Run(tt.err, func(t *testing.T) {
			t.Parallel()
			if got, err := tt.get(full); err != nil || got != tt.want {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
			want := tt.err + ": " + fmt.Sprintf(advice, tt.field)
			if strings.HasSuffix(tt.field, "Client") {
				want += "; post-read hooks have no clients, and hooks of a deletion have none for a lost cluster"
			}
			if _, err := tt.get(t.Context()); err == nil || err.Error() != want {
				t.Errorf("got error %v, want %s, and what to do", err, tt.err)
			}
		})
	}
}

func TestReleaseHooks(t *testing.T) {
	t.Parallel()
	if generating.ReleaseHooksFromContext(t.Context()) || !generating.ReleaseHooksFromContext(generating.WithReleaseHooks(t.Context())) {
		t.Error("release hooks are wanted if, and only if, somebody says so")
	}
}

func TestClusterReads(t *testing.T) {
	t.Parallel()
	clnt := cluster.NewClient(nil, nil, nil, nil, nil)
	tests := []struct {
		reason string
		act    func(context.Context)
		want   string
	}{
		{"nothing done", func(context.Context) {}, ""},
		{"taking the target client", func(ctx context.Context) { _, _ = generating.ClientFromContext(ctx) }, "the client was taken from the context, to look objects up, for instance"},
		{"taking the local client", func(ctx context.Context) { _, _ = generating.LocalClientFromContext(ctx) }, "the local client was taken from the context"},
		{"marking it by hand", generating.MarkClusterRead, "the generator looked into a cluster"},
		{"reading other values", func(ctx context.Context) { _, _ = generating.ReconcilerNameFromContext(ctx) }, ""},
		{"discovery is no reading", func(ctx context.Context) { _, _ = generating.DiscoveryFromContext(ctx) }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			ctx := generating.WithLocalClient(generating.WithClient(t.Context(), clnt), clnt)
			tt.act(ctx)
			outerCtx, outer := generating.TrackClusterReads(ctx)
			innerCtx, inner := generating.TrackClusterReads(outerCtx)
			_, sibling := generating.TrackClusterReads(outerCtx)
			if outer.Any() || inner.Any() {
				t.Error("something was recorded before tracking began")
			}
			tt.act(innerCtx)
			if inner.Reason() != tt.want || outer.Reason() != tt.want || inner.Any() != (tt.want != "") {
				t.Errorf("got %q and, outside, %q; want %q", inner.Reason(), outer.Reason(), tt.want)
			}
			if sibling.Any() {
				t.Error("something was recorded at the wrong place")
			}
		})
	}

	t.Run("a client that is not there cannot be read", func(t *testing.T) {
		t.Parallel()
		ctx, reads := generating.TrackClusterReads(t.Context())
		if _, err := generating.ClientFromContext(ctx); err == nil || reads.Any() {
			t.Errorf("got error %v, marked: %t", err, reads.Any())
		}
	})
}

func TestWithDiscovery(t *testing.T) {
	t.Parallel()
	want := &cluster.Discovery{Digest: "a"}
	ctx := generating.WithDiscovery(t.Context(), func(context.Context) (*cluster.Discovery, error) { return want, nil })
	ctx, reads := generating.TrackClusterReads(ctx)
	if got, err := generating.DiscoveryFromContext(ctx); got != want || err != nil {
		t.Errorf("without a client: got %v, error %v", got, err)
	}
	if reads.Discovery() != "a" || reads.Any() {
		t.Errorf("recorded discovery %q and reads %t", reads.Discovery(), reads.Any())
	}
	ctx = generating.WithDiscovery(ctx, func(context.Context) (*cluster.Discovery, error) { return nil, errors.New("not now") })
	if _, err := generating.DiscoveryFromContext(ctx); err == nil || err.Error() != "not now" {
		t.Errorf("got error %v", err)
	}
}
