// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"testing"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// TestWritingIsNotWaiting is about a call of the engine that goes on with the next wave: nothing is waited for while it writes.
func TestWritingIsNotWaiting(t *testing.T) {
	t.Parallel()
	object := dependents.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "demo", Name: "a"}
	b := newBoard(progress.Silent{}, clock.RealClock{}, progress.State{Operation: "apply"})
	b.add([]dependents.Dependent{{Object: object}})
	expect := func(when string, want bool) {
		t.Helper()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.state.Writing != want {
			t.Errorf("%s: want %t, got phase %q, writing %t", when, want, b.state.Phase, b.state.Writing)
		}
	}
	b.Say("applying")
	b.seen(object, status.CurrentStatus, "ready")
	expect("the first wave", false)
	b.Took(reconciler.Result{}, nil, waitingUntil([]string{"wave -1 is ready"}))
	expect("it is waited for", false)
	b.seen(object, status.CurrentStatus, "ready")
	expect("the next wave", true)
	b.Took(reconciler.Result{}, nil, waitingUntil([]string{"wave 0 is ready"}))
	expect("it is waited for, too", false)
}
