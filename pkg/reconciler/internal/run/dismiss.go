// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

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
	var all outcomes
	saved(ctx, w.call, &all, due, func(t *prepare.Object) {
		item := w.call.Ledger.Of(t)
		all.finished(w.call, item, outcome{item: item}, w.dismiss(ctx, t))
	})
	return all.Err()
}

// dismiss deletes an object that has failed.
func (w *Waves) dismiss(ctx context.Context, t *prepare.Object) error {
	_, err := w.remover.deleteCopy(ctx, w.call.Ledger.Of(t), decide.Deletion{Verb: inventory.VerbDeleted, Wave: t.ApplyOrder, Why: "has failed"}, decide.RecordFailed)
	return err
}
