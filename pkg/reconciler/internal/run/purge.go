// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// purge deletes, at the end of a wave, applied desired objects that have served their purpose, and reports whether all
// of them are gone. A desired object has served its purpose if it is ready, also if that is not awaited, and its
// purge order is not above over, the last order before the next wave.
func (w *Waves) purge(ctx context.Context, purgeable []*prepare.Object, order, over int) (done bool, err error) {
	var due []*prepare.Object
	for _, t := range purgeable {
		if t.ApplyOrder <= order && *t.PurgeOrder <= over && isPurgeable(w.call.Ledger.Of(t)) {
			due = append(due, t)
		}
	}
	unready, err := w.remover.complete(ctx, due, order)
	if err != nil {
		return false, fmt.Errorf("purging at the end of %s: %w", types.WaveText(order), err)
	}
	for _, o := range unready {
		w.call.Report.StopsAt(order, len(due))
		w.call.Report.Awaits(o.item, "completed; "+o.message)
	}
	return len(unready) == 0, nil
}

// purgeEnded deletes what has ended and would be purged at the end of a wave, which does not come because other objects
// have failed. What these may need when they are applied again stays. The call does not wait until the objects are
// gone.
func (w *Waves) purgeEnded(ctx context.Context, wanted []*prepare.Object) error {
	due := slices.DeleteFunc(slices.Clone(wanted), func(t *prepare.Object) bool {
		return t.PurgeOrder == nil || !t.Ends || !isPurgeable(w.call.Ledger.Of(t))
	})
	if len(due) == 0 {
		return nil
	}
	if _, err := w.remover.complete(ctx, due, due[0].ApplyOrder); err != nil {
		return fmt.Errorf("purging after a failure: %w", err)
	}
	return nil
}

// isPurgeable reports whether a desired object is ready, or is being purged.
func isPurgeable(item *inventory.Item) bool {
	return item.Phase == inventory.PhaseReady || decide.IsCompleting(item) && item.Phase != inventory.PhaseCompleted
}

// complete deletes desired objects that have served their purpose, and returns those that are not gone yet.
func (r *Remover) complete(ctx context.Context, due []*prepare.Object, order int) ([]outcome, error) {
	if err := r.schedule(ctx, due); err != nil {
		return nil, err
	}
	var all outcomes
	concurrent.All(r.call.Server.Concurrency, due, func(t *prepare.Object) {
		item := r.call.Ledger.Of(t)
		o, err := r.deleteOne(ctx, item, decide.Deletion{Verb: inventory.VerbCompleted, Wave: order, Why: "has served its purpose"})
		if o.ready && err == nil {
			decide.RecordCompleted(item)
		}
		all.finished(r.call, item, o, err)
	})
	return all.unready, all.Err()
}

// schedule records that desired objects have served their purpose, before the first of them is deleted: a call that
// finds one of them gone must not take that for drift and create it again.
func (r *Remover) schedule(ctx context.Context, due []*prepare.Object) error {
	changed := false
	for _, t := range due {
		if item := r.call.Ledger.Of(t); !decide.IsCompleting(item) {
			item.Phase, changed = inventory.PhaseScheduledForCompletion, true
		}
	}
	if !changed {
		return nil
	}
	return r.call.Ledger.Save(ctx)
}
