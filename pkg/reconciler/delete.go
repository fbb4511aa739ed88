// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"slices"

	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
)

// Delete deletes or orphans all recorded dependents, wave by wave; a wave begins when the one before is gone. The
// caller makes sure that CheckDeletion returned no blockers. Delete goes as far as it can without waiting; Result.Done
// means that no dependent is left. If there are dependents with DeletePolicyConfirmOnDelete whose deletion is not
// approved, it does nothing, and Result.Held names them. An approval is recorded before the first deletion.
func (r *Reconciler) Delete(ctx context.Context, request DeleteRequest) (Result, error) {
	call := r.deletion(request)
	held, err := hold(ctx, request, call)
	if err != nil || held != nil {
		result, err := r.abort(ctx, request.Owner, err)
		result.Held = held
		return result, err
	}
	if err := call.Needs.Watch(ctx, nil, prepare.Regular); err != nil {
		return r.abort(ctx, request.Owner, err)
	}
	gone, err := run.NewRemover(call, "all dependents are being deleted").Delete(ctx, slices.Clone(call.Ledger.Items))
	err = call.Barriers.LiftUnreached(ctx, err)
	done := gone && err == nil
	if done {
		err = execute.Join(r.cache.Watch(ctx, call.Owner.Label, nil), r.cache.WatchNames(ctx, call.Owner.Label, nil))
	}
	return finish(call, done), err
}

// HeldDeletion returns the dependents that Delete deletes only if the request has their digest as Approved, whether it
// has or not; nil if there are none. It looks at dependents with DeletePolicyConfirmOnDelete, as Delete does: what is
// gone already, or belongs to others by now, needs no approval.
func (r *Reconciler) HeldDeletion(ctx context.Context, request DeleteRequest) (*HeldDeletions, error) {
	call := r.deletion(request)
	_, held, err := call.HoldAll(ctx, request.Occasion)
	return held, err
}

// deletion returns the call that deletes the dependents of an owner, with their items as they are going to be recorded.
func (r *Reconciler) deletion(request DeleteRequest) *run.Call {
	var items []*InventoryItem
	newOrphans := false
	for _, recorded := range request.Inventory {
		if item := decide.Unwanted(recorded, prepare.IsOrphanedOnDelete); item != nil {
			items = append(items, item)
			newOrphans = newOrphans || decide.IsNewOrphan(recorded, item)
		}
	}
	request.forDecisions().ProtectHome(items)
	decide.Sort(items)
	call := r.call(request.Owner, items)
	call.Ledger.DecisionsUnsaved = newOrphans
	return call
}

// hold returns the dependents that may be deleted only with approval, and notes the approval that the request has.
func hold(ctx context.Context, request DeleteRequest, call *run.Call) (*HeldDeletions, error) {
	if request.Unasked {
		return nil, nil
	}
	concerned, held, err := call.HoldAll(ctx, request.Occasion)
	if err != nil || held == nil || held.Digest != request.Approved {
		return held, err
	}
	for _, item := range concerned {
		item.DeletionApproved = true
	}
	call.Ledger.DecisionsUnsaved = true
	return nil, nil
}
