// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/status"
)

// dismissFailed deletes those of the targets that have failed, and that are to go then. That they have failed is recorded before:
// whoever finds one of them gone must not take that for drift and run it again.
func (w *Waves) dismissFailed(ctx context.Context, tier []*targets.Target) error {
	var due []*targets.Target
	for _, t := range tier {
		if item := w.Ledger.Of(t); t.PurgeOnFailure && item.Status == status.FailedStatus && records.IsWritten(item) {
			item.Phase = inventory.PhaseFailed
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := w.Ledger.Save(ctx); err != nil {
		return err
	}
	var all tally
	flow.Each(ctx, w.Server.Flow, due, func(t *targets.Target) { all.add(outcome{item: w.Ledger.Of(t)}, w.applier.dismiss(ctx, t)) })
	return all.Err()
}

// dismiss deletes an object that has failed.
func (a *applier) dismiss(ctx context.Context, t *targets.Target) error {
	item := a.Ledger.Of(t)
	// How far its deletion has come is not recorded: it stays what has failed.
	going := *item
	o, err := a.remover.deleteOne(ctx, &going, decisions.Deletion{Verb: inventory.VerbDeleted, Wave: t.ApplyOrder})
	if err == nil && o.ready {
		item.UID, item.Fingerprint, item.Baseline = "", "", ""
	}
	return err
}

// mourned is how a dependent stands that has failed and went for it.
func (a *applier) mourned(item *inventory.Item) outcome {
	item.Status = status.FailedStatus
	const message = "failed, and was deleted"
	a.Report.Fails(item, message)
	return outcome{item: item, message: message}
}
