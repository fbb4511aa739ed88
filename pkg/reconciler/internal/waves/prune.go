// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
)

// Prune deletes redundant dependents, after all desired objects are ready, and reports whether they are gone. If there are more than may be deleted,
// it deletes none, except those whose deletion was approved or has begun.
func (w *Waves) Prune(ctx context.Context) (gone bool, err error) {
	items := w.call.Ledger.Unwanted()
	held, err := w.hold(ctx, items)
	if err != nil {
		return false, fmt.Errorf("deleting redundant objects: %w", err)
	}
	rest := slices.DeleteFunc(items, func(item *inventory.Item) bool { return slices.Contains(held, item) })
	if gone, err = w.applier.remover.Delete(ctx, rest); err != nil {
		return false, fmt.Errorf("deleting redundant objects: %w", err)
	}
	return gone && len(held) == 0, nil
}

// hold returns the items whose objects must not be deleted without approval, and reports them. If a user has approved the deletion, it records that.
func (w *Waves) hold(ctx context.Context, items []*inventory.Item) ([]*inventory.Item, error) {
	candidates := w.candidates(ctx, items)
	held, approved, err := w.call.Hold(candidates)
	if err != nil || held == nil && !approved {
		return nil, err
	}
	if held == nil {
		for _, candidate := range candidates {
			candidate.Item.DeletionApproved = true
		}
		return nil, w.call.Ledger.Save(ctx)
	}
	kept := make([]*inventory.Item, len(candidates))
	for i, candidate := range candidates {
		kept[i] = candidate.Item
	}
	w.call.Report.Holds(held)
	w.call.Report.StopsAt(kept[0].DeleteOrder, len(kept))
	return kept, nil
}

// candidates returns the items whose objects would be deleted, in their order. An object that cannot be read may be one of them.
func (w *Waves) candidates(ctx context.Context, items []*inventory.Item) []calls.Candidate {
	if w.call.Deletions.Max == "" {
		return nil
	}
	var mu sync.Mutex
	found := map[*inventory.Item]calls.Candidate{}
	flow.Each(ctx, w.call.Server.Flow, items, func(item *inventory.Item) {
		if !calls.NeedsApproval(item) {
			return
		}
		s, err := w.call.Server.LookServed(ctx, item)
		if err == nil && s.Exists {
			s.WantedAs = w.call.Aliases.Of(s.Seen.UID)
		}
		if ending, _ := w.call.Owner.Ending(item, s, decisions.Deletion{}); err == nil && ending != decisions.RequestDeletion {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		found[item] = calls.Candidate{Item: item, UID: s.Seen.UID}
	})
	var candidates []calls.Candidate
	for _, item := range items {
		if candidate, ok := found[item]; ok {
			candidates = append(candidates, candidate)
		}
	}
	return candidates
}
