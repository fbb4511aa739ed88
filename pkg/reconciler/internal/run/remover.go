// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Remover deletes or orphans dependents, wave by wave.
type Remover struct {
	call      *Call
	execution execution
	why       string // dependents go
}

// NewRemover returns a Remover of the dependents of a call, with the reason why dependents go.
func NewRemover(call *Call, why string) *Remover {
	return &Remover{call: call, execution: &live{call: call}, why: why}
}

// Delete deletes or orphans dependents, and reports whether all of them are gone. It saves first which of them are
// going to be orphaned, and the deletion of which is approved.
func (r *Remover) Delete(ctx context.Context, items []*inventory.Item) (gone bool, err error) {
	if r.call.Ledger.DecisionsUnsaved {
		if err := r.call.Ledger.Save(ctx); err != nil {
			return false, err
		}
	}
	rank := r.call.SortDeletion(items)
	for _, wave := range prepare.Group(items, func(item *inventory.Item) int { return item.DeleteOrder }) {
		for _, members := range prepare.Group(wave, rank) {
			if gone, err := r.deleteStage(ctx, prepare.Group(members, DeletionTier), len(wave)); err != nil || !gone {
				return false, err
			}
		}
		if err := r.call.Ledger.Checkpoint(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// deleteStage deletes tier by tier, and reports whether all objects are gone. If the deletion of an object fails or
// takes time, it still deletes the others of the stage.
func (r *Remover) deleteStage(ctx context.Context, tiers [][]*inventory.Item, waveSize int) (gone bool, err error) {
	gone = true
	var failures []error
	for _, tier := range tiers {
		remaining, err := r.deleteTier(ctx, tier)
		if err != nil {
			failures = append(failures, fmt.Errorf("deleting %s: %w", types.WaveText(tier[0].DeleteOrder), err))
			if !execute.IsAboutObjects(err) || prepare.DefinesTypes(tier[0].GroupVersionKind().GroupKind()) {
				break
			}
		}
		// Later tiers may serve the types. They are needed while there are, or may be, instances.
		needed := false
		for _, o := range remaining {
			gone = false
			needed = needed || o.keepsBarrier || o.instances != ""
			r.call.Report.Awaits(o.item, o.message)
		}
		if needed {
			break
		}
	}
	if !gone || len(failures) > 0 {
		r.call.Report.StopsAt(tiers[0][0].DeleteOrder, waveSize)
	}
	return gone && len(failures) == 0, execute.Join(failures...)
}

func (r *Remover) deleteTier(ctx context.Context, tier []*inventory.Item) ([]outcome, error) {
	var t outcomes
	work := func(item *inventory.Item) (outcome, error) {
		return r.deleteOne(ctx, item, decide.Deletion{Orphan: item.DeletePolicy == inventory.DeletePolicyOrphan, Verb: inventory.VerbDeleted, Wave: item.DeleteOrder, Why: r.why})
	}
	concurrent.All(r.call.Server.Concurrency, tier, func(item *inventory.Item) {
		o, err := work(item)
		t.finished(r.call, item, r.call.behindBarrier(ctx, o, func() (outcome, error) { return work(item) }), err)
	})
	t.proceed(ctx, r.call)
	for _, item := range t.ready {
		r.call.Losses.Leave(item)
		r.call.Ledger.Drop(item)
	}
	return t.unready, t.Err()
}

// deleteCopy deletes the object of an item that is wanted again later, or stays recorded for another reason; so the
// progress of the deletion goes into a copy. When the object is gone, that is recorded.
func (r *Remover) deleteCopy(ctx context.Context, item *inventory.Item, d decide.Deletion, record func(*inventory.Item)) (outcome, error) {
	going := *item
	o, err := r.deleteOne(ctx, &going, d)
	if err == nil && o.ready {
		record(item)
	}
	o.item = item
	return o, err
}
