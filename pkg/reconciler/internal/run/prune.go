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
	gone, err := w.pruner.upTo(ctx, types.MaxOrder)
	return gone && !w.pruner.holds, err
}

// pruneBefore deletes what must be gone before a wave with this apply order begins, and reports whether it is.
func (w *Waves) pruneBefore(ctx context.Context, order int) (gone bool, err error) {
	if w.call.Policies.PruneAt != inventory.PruneAtWaves {
		return true, nil
	}
	return w.pruner.upTo(ctx, order)
}

// pruner deletes the redundant dependents of a call.
type pruner struct {
	call    *Call
	remover *Remover
	begun   bool
	holds   bool              // some may be deleted only with approval
	rest    []*inventory.Item // those that upTo has not come to
}

// upTo deletes redundant dependents up to a delete order, and reports whether they are gone or kept, except those that
// may be deleted only with approval.
func (p *pruner) upTo(ctx context.Context, order int) (gone bool, err error) {
	if err := p.begin(ctx); err != nil {
		return false, fmt.Errorf("deleting redundant objects: %w", err)
	}
	var due, later []*inventory.Item
	for _, item := range p.rest {
		if item.DeleteOrder <= order {
			due = append(due, item)
		} else {
			later = append(later, item)
		}
	}
	p.rest = later
	if gone, err = p.remover.Delete(ctx, due); err != nil {
		return false, fmt.Errorf("deleting redundant objects: %w", err)
	}
	return gone, nil
}

// begin decides once in a call what may be deleted.
func (p *pruner) begin(ctx context.Context) error {
	if p.begun {
		return nil
	}
	items := p.call.Ledger.Redundant()
	p.call.SettleKept(items)
	held, awaited, err := p.hold(ctx, items)
	if err != nil {
		return err
	}
	for _, item := range held {
		p.call.Losses.Stay(item)
	}
	p.begun, p.holds = true, awaited
	p.rest = slices.DeleteFunc(items, func(item *inventory.Item) bool { return slices.Contains(held, item) })
	return nil
}

// hold returns the items whose objects may be deleted only with approval, and reports them. If a user has approved the
// deletion, it records that.
func (p *pruner) hold(ctx context.Context, items []*inventory.Item) (kept []*inventory.Item, awaited bool, err error) {
	concerned, held, approved, err := p.call.Hold(p.candidates(ctx, items))
	switch {
	case err != nil || held == nil:
		return nil, false, err
	case approved:
		for _, candidate := range concerned {
			candidate.Item.DeletionApproved = true
		}
		return nil, false, p.call.Ledger.Save(ctx)
	}
	kept = make([]*inventory.Item, len(concerned))
	for i, candidate := range concerned {
		kept[i] = candidate.Item
	}
	awaited, err = p.remover.execution.hold(ctx, concerned, held)
	return kept, awaited, err
}

// candidates returns the items whose objects would be deleted, in their order; without a limit, only those that demand
// approval. An object that cannot be read may be one of them.
func (p *pruner) candidates(ctx context.Context, items []*inventory.Item) []Candidate {
	demands := NeedsApproval
	if p.call.Deletions.Max == "" {
		demands = p.call.DemandsApproval
	}
	items = slices.DeleteFunc(slices.Clone(items), func(item *inventory.Item) bool { return !demands(item) })
	candidates, _ := p.call.candidates(items, func(item *inventory.Item) (Candidate, bool, error) {
		s, err := p.remover.execution.lookForEnd(ctx, item)
		if err == nil && s.Exists {
			s.WantedAs, err = p.call.wantedAs(ctx, item, s)
		}
		prune := p.call.Prune(item, s.Seen)
		ending, _ := p.call.Owner.Ending(item, s, decide.Deletion{Prune: prune})
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
