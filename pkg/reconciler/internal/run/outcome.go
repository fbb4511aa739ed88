// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"sync"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
)

// outcome is the state of one dependent after the call has handled it.
type outcome struct {
	item    *inventory.Item
	ready   bool
	message string        // what the call waits for, if it is not ready
	health  decide.Health // if it is not ready
	stays   bool          // its item must stay although it is ready
	// overdue means that it is not ready in time, and that later waves begin nevertheless.
	overdue bool
	// unwritten means that the manifest has still to be applied.
	unwritten bool
	// keepsBarrier means that an object that defines types is being deleted, so that its barrier must stay.
	keepsBarrier bool
	// instances names the instances that block the deletion of an object that defines types; what serves them has to
	// stay, too.
	instances string
	barrier   *guard.Barrier // must be recorded and applied before anything else; may be nil
	// adopting is the observation of an object whose adoption must be recorded before anything else; may be nil.
	adopting *decide.Situation
	// releasing is the observation of an object that keeps our finalizer until its outcome is recorded; may be nil.
	releasing *decide.Situation
	// saved continues the work on the dependent when the inventory is saved; nil if it has ended.
	saved func() (outcome, error)
}

// outcomes collects the outcomes of concurrent work.
type outcomes struct {
	Failures

	mu      sync.Mutex
	ready   []*inventory.Item
	unready []outcome
	unended []outcome // those that continue when the inventory is saved
}

// finished adds the outcome of the work on one dependent, and reports the error, if there is one.
func (t *outcomes) finished(c *Call, item *inventory.Item, o outcome, err error) {
	if err != nil && execute.IsAboutObjects(err) {
		c.Report.Errs(item, err)
	}
	t.add(o, err)
}

func (t *outcomes) add(o outcome, err error) {
	if err != nil {
		t.Add(err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case o.saved != nil:
		t.unended = append(t.unended, o)
	case o.stays:
	case o.ready:
		t.ready = append(t.ready, o.item)
	default:
		t.unready = append(t.unready, o)
	}
}

// saved saves what has to be recorded before requests about the members, and then makes these concurrently.
func saved[T any](ctx context.Context, c *Call, t *outcomes, members []T, then func(T)) {
	if len(members) == 0 {
		return
	}
	if err := c.Ledger.Save(ctx); err != nil {
		t.Add(err)
		return
	}
	concurrent.All(c.Server.Concurrency, members, then)
}

// proceed saves what has to be recorded before further requests about dependents, once for all of them, and then
// continues with these.
func (t *outcomes) proceed(ctx context.Context, c *Call) {
	for len(t.unended) > 0 {
		unended := t.unended
		t.unended = nil
		saved(ctx, c, t, unended, func(o outcome) {
			done, err := o.saved()
			t.finished(c, o.item, done, err)
		})
	}
}

// behindBarrier makes an outcome that needs a barrier continue when the barrier is recorded: it applies the barrier. If
// the object cannot have one, or need not wait, the work on it is repeated.
func (c *Call) behindBarrier(ctx context.Context, o outcome, work func() (outcome, error)) outcome {
	if o.barrier == nil {
		return o
	}
	c.Barriers.Record(o.item, o.barrier)
	o.saved = func() (outcome, error) {
		switch awaited, err := c.Barriers.PutUp(ctx, o.item, o.barrier); {
		case err != nil:
			return outcome{}, err
		case awaited:
			waiting := o
			waiting.saved = nil
			return waiting, nil
		default:
			return work()
		}
	}
	return o
}
