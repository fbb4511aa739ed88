// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

func (d *definition) marks() pruneOwner {
	return pruneOwner{Name: Name, ID: d.owner, Manager: cmp.Or(d.manager, Name), Client: d.client}
}

// claim makes obsolete objects dependents, so that the engine deletes them, and returns the results of those that are
// not deleted.
func (d *definition) claim(ctx context.Context, w *work) ([]ResourceSyncResult, error) {
	settled := d.skipped(w)
	owner := d.marks()
	failures := make(chan error, len(w.strays)+len(w.pruned))
	concurrent.All(concurrency, w.strays, func(object *unstructured.Unstructured) { failures <- owner.Release(ctx, object) })
	claims, ids := make(chan claimed, len(w.pruned)), sortedIDs(w.pruned)
	concurrent.All(concurrency, ids, func(id types.ObjectID) {
		live := w.obsolete[id]
		if live == nil || d.isTerminated() {
			return
		}
		claim, err := owner.Claim(ctx, live)
		failures <- err
		claims <- claimed{id: id, claim: claim}
	})
	close(failures)
	close(claims)
	for err := range failures {
		if err != nil {
			return nil, err
		}
	}
	if d.isTerminated() {
		return nil, errTerminated
	}
	for each := range claims {
		item := w.pruned[each.id]
		result := resultOf(item)
		switch each.claim {
		case objectClaimed:
			continue
		case objectForeign:
			result.Status, result.HookPhase, result.Message = ResultCodePruneSkipped, OperationSucceeded, foreignText
		case objectVanished:
			result.Status, result.HookPhase, result.Message = ResultCodePruned, OperationSucceeded, goneText
		}
		settled = append(settled, result)
		delete(w.pruned, each.id)
		w.request.Inventory = slices.DeleteFunc(w.request.Inventory, func(other *inventory.Item) bool { return other == item })
	}
	slices.SortFunc(settled, func(a, b ResourceSyncResult) int { return a.ResourceKey.id().Compare(b.ResourceKey.id()) })
	return settled, nil
}

// concurrency is how many objects are marked at the same time.
const concurrency = 16

// claimed is what became of an obsolete object.
type claimed struct {
	id    types.ObjectID
	claim claimOutcome
}
