// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"testing"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// TestWritingIsNotWaiting is about a call of the engine that goes on with the next wave: nothing is waited for while it writes.
func TestWritingIsNotWaiting(t *testing.T) {
	t.Parallel()
	first := dependents.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "demo", Name: "a"}
	second := dependents.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "demo", Name: "b"}
	b := newBoard(progress.Silent{}, clock.RealClock{}, progress.State{Operation: "apply"})
	b.add([]dependents.Dependent{{Object: first}, {Object: second, Wave: 1}})
	expect := func(when string, want bool) {
		t.Helper()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.state.Writing != want {
			t.Errorf("%s: want %t, got phase %q, writing %t", when, want, b.state.Phase, b.state.Writing)
		}
	}
	b.Say("applying")
	b.seen(first, status.InProgressStatus, "not yet")
	expect("the first wave", false)
	item := func(object dependents.Object, phase reconciler.Phase) *reconciler.InventoryItem {
		return &reconciler.InventoryItem{
			TypeVersionInfo: inventory.TypeVersionInfo(object.GetObjectKind().GroupVersionKind()),
			NameInfo:        inventory.NameInfo{Namespace: object.Namespace, Name: object.Name}, Phase: phase,
		}
	}
	result := reconciler.Result{Inventory: []*reconciler.InventoryItem{item(first, reconciler.PhaseCreating), item(second, reconciler.PhaseScheduledForApplication)}}
	b.Took(result, nil, waitingUntil([]string{"wave 0 is ready"}))
	expect("it is waited for", false)
	b.seen(first, status.CurrentStatus, "ready")
	expect("it is read", false)
	b.seen(second, status.InProgressStatus, "not yet")
	expect("the next wave", true)
	b.Took(reconciler.Result{}, errors.New("no answer"), "")
	expect("an error tells nothing of waits", true)
	b.Took(reconciler.Result{}, nil, waitingUntil([]string{"wave 1 is ready"}))
	expect("it is waited for, too", false)
}
