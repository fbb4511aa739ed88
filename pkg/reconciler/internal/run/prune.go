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
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Prune deletes redundant dependents, after all desired objects are ready, and reports whether all are gone or kept. It
// deletes none of those that must not be deleted without approval.
func (w *Waves) Prune(ctx context.Context) (done bool, err error) {
	gone, err := w.pruneUpTo(ctx, types.MaxOrder)
	return gone && !w.holds, err
}

// pruneUpTo deletes redundant dependents up to a delete order, and reports whether they are gone or kept, except those
// that may be deleted only with approval.
func (w *Waves) pruneUpTo(ctx context.Context, order int) (gone bool, err error) {
	if !w.begun {
		if err := w.beginPruning(ctx); err != nil {
			return false, fmt.Errorf("deleting redundant objects: %w", err)
		}
	}
	var due, later []*inventory.Item
	for _, item := range w.redundant {
		if item.DeleteOrder <= order {
			due = append(due, item)
		} else {
			later = append(later, item)
		}
	}
	w.redundant = later
	if gone, err = w.remover.Delete(ctx, due); err != nil {
		return false, fmt.Errorf("deleting redundant objects: %w", err)
	}
	return gone, nil
}

// beginPruning decides once in a call what may be deleted. If a user has approved the deletion, it records that.
func (w *Waves) beginPruning(ctx context.Context) error {
	items := w.call.Ledger.Redundant()
	w.call.SettleKept(items)
	concerned, held, approved, err := w.call.Hold(w.candidates(ctx, items))
	switch {
	case err != nil:
		return err
	case approved:
		for _, candidate := range concerned {
			candidate.Item.DeletionApproved = true
		}
		if err := w.call.Ledger.Save(ctx); err != nil {
			return err
		}
	case held != nil:
		if w.holds, err = w.execution.hold(ctx, concerned, held); err != nil {
			return err
		}
		for _, candidate := range concerned {
			w.call.Losses.Stay(candidate.Item)
		}
		items = slices.DeleteFunc(items, func(item *inventory.Item) bool {
			return slices.ContainsFunc(concerned, func(candidate Candidate) bool { return candidate.Item == item })
		})
	}
	w.begun, w.redundant = true, items
	return nil
}

// candidates returns the items whose objects would be deleted, in their order; without a limit, only those that demand
// approval. An object that cannot be read may be one of them.
func (w *Waves) candidates(ctx context.Context, items []*inventory.Item) []Candidate {
	demands := NeedsApproval
	if w.call.Deletions.Max == "" {
		demands = w.call.DemandsApproval
	}
	items = slices.DeleteFunc(slices.Clone(items), func(item *inventory.Item) bool { return !demands(item) })
	candidates, _ := w.call.candidates(items, func(item *inventory.Item) (Candidate, bool, error) {
		s, err := w.execution.lookForEnd(ctx, item)
		if err == nil && s.Exists {
			s.WantedAs, err = w.call.wantedAs(ctx, item, s)
		}
		prune := w.call.Prune(item, s.Seen)
		ending, _ := w.call.Owner.Ending(item, s, decide.Deletion{Prune: prune})
		goes := err != nil || ending == decide.RequestDeletion || ending == decide.AwaitApproval
		return Candidate{Item: item, UID: s.Seen.UID, Confirm: prune == inventory.PrunePolicyConfirm}, goes, nil
	})
	return candidates
}

// wantedAs returns the desired object that a redundant one is; empty if it is none. An API server may serve one object
// in several groups, as it does with Events, and only the UID shows it.
func (c *Call) wantedAs(ctx context.Context, item *inventory.Item, s decide.Situation) (string, error) {
	for _, wanted := range c.Ledger.named()[nameOfItem(item)] {
		other, err := c.Server.Ask(ctx, wanted)
		if err != nil {
			return "", err
		}
		if other.Exists && other.Seen.UID == s.Seen.UID {
			return fmt.Sprintf("%s of group %q", types.IDOf(wanted), wanted.Group), nil
		}
	}
	return "", nil
}

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
