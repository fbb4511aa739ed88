// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/types"
)

// purge deletes, at the end of a wave, applied desired objects that have served their purpose, and reports whether all of them are gone.
// A desired object has served its purpose if it is ready, also if nobody waits for that, and its purge order is not above over, the last order before the next wave.
func (w *Waves) purge(ctx context.Context, purgeable []*desired.Object, order, over int) (done bool, err error) {
	var due []*desired.Object
	for _, t := range purgeable {
		item := w.call.Ledger.Of(t)
		isDue := item.Phase == inventory.PhaseReady || bookkeeping.IsCompleting(item) && item.Phase != inventory.PhaseCompleted
		if t.ApplyOrder <= order && *t.PurgeOrder <= over && isDue {
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return true, nil
	}
	if err := w.schedule(ctx, due); err != nil {
		return false, err
	}
	var all outcomes
	flow.Each(ctx, w.call.Server.Flow, due, func(t *desired.Object) {
		item := w.call.Ledger.Of(t)
		o, err := w.applier.remover.deleteOne(ctx, item, decisions.Deletion{Verb: inventory.VerbCompleted, Wave: order, Why: "has served its purpose"})
		if o.ready && err == nil {
			bookkeeping.Complete(item)
		}
		all.finished(w.call, item, o, err)
	})
	if err := all.Err(); err != nil {
		return false, fmt.Errorf("purging at the end of %s: %w", types.WaveText(order), err)
	}
	for _, o := range all.unready {
		w.call.Report.StopsAt(order, len(due))
		w.call.Report.Awaits(o.item, "completed; "+o.message)
	}
	return len(all.unready) == 0, nil
}

// schedule records that desired objects have served their purpose, before the first of them is deleted: a call that finds one of them
// gone must not take that for drift and create it again.
func (w *Waves) schedule(ctx context.Context, due []*desired.Object) error {
	changed := false
	for _, t := range due {
		if item := w.call.Ledger.Of(t); !bookkeeping.IsCompleting(item) {
			item.Phase, changed = inventory.PhaseScheduledForCompletion, true
		}
	}
	if !changed {
		return nil
	}
	return w.call.Ledger.Save(ctx)
}
