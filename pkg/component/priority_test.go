// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// gate is a generator without dependents that records for whom it is called, and can be closed.
type gate struct {
	mu     sync.Mutex
	names  []string
	closed chan struct{} // nil if it is open
}

func (g *gate) Generate(_ context.Context, _ string, name string, _ types.Unstructurable) ([]client.Object, error) {
	g.mu.Lock()
	g.names = append(g.names, name)
	closed := g.closed
	g.mu.Unlock()
	if closed != nil {
		<-closed
	}
	return nil, nil
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.names = make(chan struct{}), nil
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

func (g *gate) calls() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.names)
}

// named creates a widget without dependents.
func (r *rig) named(name string, requeue time.Duration) *Widget {
	r.tb.Helper()
	widget := r.widget("")
	widget.Name = name
	widget.Spec.RequeueInterval = &metav1.Duration{Duration: requeue}
	r.create(widget)
	return widget
}

func TestWhatUsersChangeComesFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const periodic = 50
	gate := &gate{}
	reconciler := NewReconciler[*Widget](r.name, gate, ReconcilerOptions{MaxConcurrentReconciles: 1})
	r.start(reconciler)
	t.Cleanup(gate.open)
	changed, woken := r.named("changed", time.Hour), r.named("woken", time.Hour)
	awaitReady(r, changed)
	awaitReady(r, woken)
	for i := range periodic {
		awaitReady(r, r.named(fmt.Sprintf("periodic-%d", i), time.Second))
	}
	r.settle(changed)
	if got := fmt.Sprintf("%T", reconciler.queue.Queue); got != "*queue.agingQueue" {
		t.Errorf("want a queue in which no component starves, got %s", got)
	}
	gate.close()
	awaitWaiting := func(want int) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) {
			waiting := reconciler.queue.Queue.Len()
			return waiting == want, fmt.Sprintf("want %d waiting components, have %d", want, waiting)
		})
	}
	// One of those that are due stands in the gate and keeps all others waiting.
	awaitWaiting(periodic - 1)
	if err := reconciler.Trigger(woken.Namespace, woken.Name); err != nil {
		t.Fatal(err)
	}
	awaitWaiting(periodic)
	change(r, changed, func(w *Widget) { w.Spec.Timeout = &metav1.Duration{Duration: time.Hour} })
	awaitWaiting(periodic + 1)
	gate.open()
	testenv.Eventually(t, func() (bool, string) { return len(gate.calls()) >= periodic+2, "not all were reconciled" })
	diff(t, "those that are due were overtaken by", []string{"changed", "woken"}, gate.calls()[1:3])
}

func TestPriorityOfTheNextPass(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		script script
		want   *int
	}{
		{"a ready component is looked at only because time has passed", script{result: reconciler.Result{Done: true}}, new(queue.PriorityPeriodic)},
		{"so is one that waits for an event", script{}, new(queue.PriorityPeriodic)},
		{"what the engine asks for goes on with something", script{result: reconciler.Result{RequeueAfter: time.Second}}, new(queue.PriorityWoken)},
		{"a failure must not overtake what users change, nor wait behind all that is due", script{err: errors.New("no")}, new(queue.PriorityWoken)},
		{"a pass without a conclusion is repeated as it was", script{err: resource.ErrChanged}, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			test.script.client = s.script.client
			*s.script = test.script
			result, _ := s.worker.reconcile(t.Context(), client.ObjectKeyFromObject(s.widget))
			diff(t, "priority", test.want, result.Priority)
		})
	}
}
