// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestInterruptWhileOthersHaveTheLock ends commands that have not begun yet.
func TestInterruptWhileOthersHaveTheLock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.gated("1")
	first := p.background(t.Context(), "apply", "web", source)
	p.reachGate()
	for _, args := range [][]string{{"apply", "web", source}, {"delete", "web"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		x := newProxy(t, func(x *proxy) {
			x.before = func(request testenv.Request) bool {
				if isLease(request) && request.IsWatch() {
					interrupt()
				}
				return true
			}
		})
		got := p.through(x).clmContext(ctx, args...)
		p.expect(got, exitInterrupted, "interrupted", "Nothing is lost: to continue, run the same command again.")
		interrupt()
	}
	p.openGate()
	if got := <-first; got.code != 0 {
		t.Errorf("exit code %d:\n%s", got.code, got.stderr)
	}
}
