// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"

	"github.com/component-operator/runtime/pkg/status"
)

// dismissFailed deletes those of the targets that have failed, and that are to go then. That they have failed is recorded before:
// whoever finds one of them gone must not take that for drift and run it again.
func (p *pass) dismissFailed(ctx context.Context, tier []*target) error {
	var due []*target
	for _, t := range tier {
		if item := p.item(t); t.purgeOnFailure && item.Status == status.FailedStatus && item.written() {
			item.Phase = PhaseFailed
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := p.save(ctx); err != nil {
		return err
	}
	var all tally
	each(ctx, p.flow, due, func(t *target) { all.add(outcome{item: p.item(t)}, p.dismiss(ctx, t)) })
	return all.err()
}

// dismiss deletes an object that has failed.
func (p *pass) dismiss(ctx context.Context, t *target) error {
	item := p.item(t)
	// How far its deletion has come is not recorded: it stays what has failed.
	going := *item
	o, err := p.deleteOne(ctx, &going, deletion{verb: VerbDeleted, wave: t.applyOrder})
	if err == nil && o.ready {
		item.UID, item.Fingerprint, item.Baseline = "", "", ""
	}
	return err
}

// mourned is how a dependent stands that has failed and went for it.
func (p *pass) mourned(item *InventoryItem) outcome {
	item.Status = status.FailedStatus
	const message = "failed, and was deleted"
	p.note(&p.result.Failures, item, message)
	return outcome{item: item, message: message}
}
