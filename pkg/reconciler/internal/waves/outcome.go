// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"
	"sync"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/barriers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
)

// outcome is how one dependent stands after it was worked upon.
type outcome struct {
	item    *inventory.Item
	ready   bool
	message string // what it lacks, if it is not ready
	doomed  bool   // it cannot become ready, because its namespace is being deleted
	// unwritten means that the manifest has not been written, which is going to be tried again.
	unwritten bool
	// securing means that the deletion of an object is under way that defines types, so that its barrier has to stay.
	securing bool
	// instances are those because of which an object that defines types stays, and so must what serves them; empty if there are none.
	instances string
	barrier   *barriers.Barrier // that is needed before the object can be deleted; nil if there is one
	// adopting is what was seen of an object that is to be adopted after that is recorded; nil if nothing is to be recorded.
	adopting *decisions.Situation
}

// tally collects how dependents stand that are worked upon side by side.
type tally struct {
	calls.Failures

	mu       sync.Mutex
	ready    []*inventory.Item
	unready  []outcome
	unbarred []outcome // that need a barrier before anything else is done
	adopting []outcome // whose adoption has to be recorded before anything else is done
}

func (t *tally) add(o outcome, err error) {
	if err != nil {
		t.Add(err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case o.barrier != nil:
		t.unbarred = append(t.unbarred, o)
	case o.adopting != nil:
		t.adopting = append(t.adopting, o)
	case o.ready:
		t.ready = append(t.ready, o.item)
	default:
		t.unready = append(t.unready, o)
	}
}

// enclose puts up the barriers that the outcomes of a tier ask for, after they were recorded. What cannot have one is worked upon again without.
func enclose(ctx context.Context, p *calls.Call, t *tally, work func(*inventory.Item) (outcome, error)) {
	held := t.unbarred
	t.unbarred = nil
	if len(held) == 0 {
		return
	}
	for _, o := range held {
		p.Barriers.Record(o.item, o.barrier)
	}
	if err := p.Ledger.Save(ctx); err != nil {
		t.add(outcome{}, err)
		return
	}
	flow.Each(ctx, p.Server.Flow, held, func(o outcome) {
		switch awaited, err := p.Barriers.PutUp(ctx, o.item, o.barrier); {
		case err != nil:
			t.add(outcome{}, err)
		case awaited:
			o.barrier = nil
			t.add(o, nil)
		default:
			t.add(work(o.item))
		}
	})
}
