// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
)

// dismissFailed deletes desired objects that have failed and should be purged then. It records the failure before: a
// call that finds one of them gone must not take that for drift and create it again.
func (w *Waves) dismissFailed(ctx context.Context, tier []*prepare.Object) error {
	var due []*prepare.Object
	for _, t := range tier {
		if item := w.call.Ledger.Of(t); t.PurgeOnFailure && item.Status == status.FailedStatus && decide.IsWritten(item) {
			item.Phase = inventory.PhaseFailed
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := w.call.Ledger.Save(ctx); err != nil {
		return err
	}
	var all outcomes
	concurrent.EachWithin(ctx, w.call.Server.Flow, due, func(t *prepare.Object) {
		item := w.call.Ledger.Of(t)
		all.finished(w.call, item, outcome{item: item}, w.dismiss(ctx, t))
	})
	return all.Err()
}

// dismiss deletes an object that has failed.
func (w *Waves) dismiss(ctx context.Context, t *prepare.Object) error {
	item := w.call.Ledger.Of(t)
	// The item keeps the phase Failed, so the progress of the deletion goes into a copy.
	going := *item
	o, err := w.remover.deleteOne(ctx, &going, decide.Deletion{Verb: inventory.VerbDeleted, Wave: t.ApplyOrder, Why: "has failed"})
	if err == nil && o.ready {
		decide.RecordFailed(item)
	}
	return err
}
