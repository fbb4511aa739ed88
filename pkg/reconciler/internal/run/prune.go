// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
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
