// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generator_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
)

func TestClusterReads(t *testing.T) {
	t.Parallel()
	clnt := cluster.NewClient(nil, nil, nil, nil, nil)
	tests := []struct {
		reason string
		act    func(context.Context)
		want   string
	}{
		{"nothing done", func(context.Context) {}, ""},
		{"taking the target client", func(ctx context.Context) { _, _ = generator.ClientFromContext(ctx) }, "the client was taken from the context, to look objects up, for instance"},
		{"taking the local client", func(ctx context.Context) { _, _ = generator.LocalClientFromContext(ctx) }, "the local client was taken from the context"},
		{"marking it by hand", generator.MarkClusterRead, "the generator looked into a cluster"},
		{"reading other values", func(ctx context.Context) { _, _ = generator.ReconcilerNameFromContext(ctx) }, ""},
		{"discovery is no reading", func(ctx context.Context) { _, _ = generator.DiscoveryFromContext(ctx) }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			ctx := generating.LocalClient.With(generating.Client.With(t.Context(), clnt), clnt)
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
		if _, err := generator.ClientFromContext(ctx); err == nil || reads.Any() {
			t.Errorf("got error %v, marked: %t", err, reads.Any())
		}
	})
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
