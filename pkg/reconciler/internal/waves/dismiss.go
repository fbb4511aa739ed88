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

// dismissFailed deletes targets that have failed and should be purged then. It records the failure before: a call that finds one
// of them gone must not take that for drift and create it again.
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
	var all outcomes
	flow.Each(ctx, w.Server.Flow, due, func(t *targets.Target) { all.add(outcome{item: w.Ledger.Of(t)}, w.applier.dismiss(ctx, t)) })
	return all.Err()
}

// dismiss deletes an object that has failed.
func (a *applier) dismiss(ctx context.Context, t *targets.Target) error {
	item := a.Ledger.Of(t)
	// The item keeps the phase Failed, so the progress of the deletion goes into a copy.
	going := *item
	o, err := a.remover.deleteOne(ctx, &going, decisions.Deletion{Verb: inventory.VerbDeleted, Wave: t.ApplyOrder})
	if err == nil && o.ready {
		item.UID, item.Fingerprint, item.Baseline = "", "", ""
	}
	return err
}

// dismissed returns the outcome for a dependent that has failed and was deleted.
func (a *applier) dismissed(item *inventory.Item) outcome {
	item.Status = status.FailedStatus
	const message = "failed, and was deleted"
	a.Report.Fails(item, message)
	return outcome{item: item, message: message}
}
