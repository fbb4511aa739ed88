// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"slices"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/policies"
	"github.com/component-operator/runtime/pkg/reconciler/internal/waves"
)

// Delete deletes or orphans all recorded dependents, wave by wave; a wave begins when the one before is gone. The caller makes sure
// that CheckDeletion returned no blockers. Delete goes as far as it can without waiting; Result.Done means that no dependent is left.
func (r *Reconciler) Delete(ctx context.Context, request DeleteRequest) (Result, error) {
	var items []*InventoryItem
	newOrphans := false
	for _, recorded := range request.Inventory {
		if item := bookkeeping.Unwanted(recorded, policies.IsOrphanedOnDelete); item != nil {
			items = append(items, item)
			newOrphans = newOrphans || bookkeeping.IsNewOrphan(recorded, item)
		}
	}
	request.forDecisions().ProtectHome(items)
	bookkeeping.Sort(items)
	call := r.call(request.Owner, items)
	call.Ledger.OrphansUnsaved = newOrphans
	ctx = flow.WithLimiter(ctx, call.Server.Flow)
	if err := call.Needs.Watch(ctx, nil, desired.Regular); err != nil {
		return r.abort(ctx, request.Owner, err)
	}
	gone, err := waves.NewRemover(call).Delete(ctx, slices.Clone(items))
	err = call.Barriers.LiftUnreached(ctx, err)
	done := gone && err == nil
	if done {
		err = answers.Join(r.cache.Watch(ctx, call.Owner.Label, nil), r.cache.WatchNames(ctx, call.Owner.Label, nil))
	}
	return finish(call, done), err
}
