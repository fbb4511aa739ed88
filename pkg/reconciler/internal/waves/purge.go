// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
)

// purge deletes, at the end of a wave, applied targets that have served their purpose, and reports whether all of them are gone.
// A target has served its purpose if its purge order is not above over, the last order before the next wave.
func (w *Waves) purge(ctx context.Context, purgeable []*targets.Target, order, over int) (done bool, err error) {
	var due []*targets.Target
	for _, t := range purgeable {
		if t.ApplyOrder <= order && *t.PurgeOrder <= over && w.Ledger.Of(t).Phase != inventory.PhaseCompleted {
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
	flow.Each(ctx, w.Server.Flow, due, func(t *targets.Target) {
		item := w.Ledger.Of(t)
		o, err := w.applier.remover.deleteOne(ctx, item, decisions.Deletion{Verb: inventory.VerbCompleted, Wave: order})
		if o.ready && err == nil {
			records.Complete(item)
		}
		all.add(o, err)
	})
	if err := all.Err(); err != nil {
		return false, fmt.Errorf("purging at the end of wave %d: %w", order, err)
	}
	for _, o := range all.unready {
		w.Report.StopsAt(order, len(due))
		w.Report.Awaits(o.item, "completed; "+o.message)
	}
	return len(all.unready) == 0, nil
}

// schedule records that targets have served their purpose, before the first of them is deleted: a call that finds one of them
// gone must not take that for drift and create it again.
func (w *Waves) schedule(ctx context.Context, due []*targets.Target) error {
	changed := false
	for _, t := range due {
		if item := w.Ledger.Of(t); !records.IsCompleting(item) {
			item.Phase, changed = inventory.PhaseScheduledForCompletion, true
		}
	}
	if !changed {
		return nil
	}
	return w.Ledger.Save(ctx)
}
