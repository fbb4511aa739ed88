// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
	"github.com/component-operator/runtime/pkg/types"
)

// Delete deletes or orphans all recorded dependents, wave by wave; a wave begins when the one before is gone. The
// caller must ensure that CheckDeletion returned no blockers. Delete does as much as it can without waiting;
// Result.Done means that no dependent is left. If the deletion of dependents with DeletePolicyConfirmOnDelete is not
// approved, Delete deletes nothing, and Result.Held lists them. An approval is recorded before the first deletion.
func (r *Reconciler) Delete(ctx context.Context, request DeleteRequest) (Result, error) {
	call := r.deletion(request)
	held, err := hold(ctx, request, call)
	if err != nil || held != nil {
		result, err := r.abort(ctx, request.Owner, err)
		result.Held = held
		return result, err
	}
	if err := call.Watch(ctx, nil, prepare.Regular); err != nil {
		return r.abort(ctx, request.Owner, err)
	}
	gone, err := run.New(call, run.Options{Why: "all dependents are being deleted"}).Delete(ctx, slices.Clone(call.Ledger.Items))
	err = call.Barriers.LiftUnreached(ctx, err)
	done := gone && err == nil
	if done {
		err = execute.Join(r.cache.Watch(ctx, call.Owner.Label, nil), r.cache.WatchNames(ctx, call.Owner.Label, nil))
	}
	return finish(call, done), err
}

// HeldDeletion returns the dependents that Delete deletes only if the request has their digest as Approved; nil if
// there are none. It returns them even if the request has that digest. Like Delete, it considers dependents with
// DeletePolicyConfirmOnDelete; objects that are gone or now belong to others need no approval.
func (r *Reconciler) HeldDeletion(ctx context.Context, request DeleteRequest) (*HeldDeletions, error) {
	call := r.deletion(request)
	_, held, err := call.HoldAll(ctx, request.Occasion)
	return held, err
}

// deletion returns the call that deletes the dependents of an owner, with the items that it will record.
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
	call := r.call(request.Owner, items, r.config)
	call.Ledger.DecisionsUnsaved = newOrphans
	return call
}

// hold returns the dependents whose deletion is not approved; nil if there are none. If the request has the approval,
// hold marks their items as approved.
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

// abort returns the result of a call that could not begin, and lifts the barriers that earlier calls left.
func (r *Reconciler) abort(ctx context.Context, owner Owner, reason error) (Result, error) {
	inventory, err := r.LiftBarriers(ctx, DeleteRequest{Owner: owner})
	if err != nil {
		reason = execute.Join(reason, err)
	}
	return Result{Inventory: inventory}, reason
}

// LiftBarriers removes the barriers of an owner, so that instances of the types can be created again. A caller that has
// begun a deletion must call LiftBarriers if it will not call Apply or Delete for a while. It returns the inventory,
// which the caller must persist, and makes no request if there are no barriers.
func (r *Reconciler) LiftBarriers(ctx context.Context, request DeleteRequest) ([]*InventoryItem, error) {
	items := slices.Clone(request.Inventory)
	c := r.call(request.Owner, items, r.config)
	for i, recorded := range items {
		if recorded.Barrier == "" {
			continue
		}
		items[i] = recorded.DeepCopy()
		if err := c.Barriers.Lift(ctx, items[i]); err != nil {
			return items, err
		}
	}
	return items, nil
}

// RebuildRequest is the input of Reconciler.Rebuild.
type RebuildRequest struct {
	// ID is the owner's ID. Required.
	ID string
	// Known are the items that were not lost. The result contains them unchanged.
	Known []*InventoryItem
	// Objects are the wanted objects, as far as they are known. Rebuild lists their types.
	Objects []client.Object
	// Types are further types to list. A kind of "*" stands for all kinds of a group, a group of "*" for all groups.
	// The version is ignored: Rebuild uses one that is served.
	Types []TypeVersionInfo
	// Namespaces are listed one by one for types that the client may not list in the whole cluster.
	Namespaces []string
	// Policies are the owner's policies, for objects whose annotations do not override them.
	Policies Policies
}

// RebuildResult is the result of Reconciler.Rebuild.
type RebuildResult struct {
	// Inventory holds the known items and the found ones, in the order in which inventories are kept.
	Inventory []*InventoryItem
	// Found is the number of items that were not known.
	Found int
	// Unlisted are the types that could not be listed, sorted: listing is forbidden or not supported, or their API does
	// not respond (if it does not respond to discovery, the kind is "*"). Dependents of these types may be missing.
	Unlisted []TypeInfo
}

// Rebuild reconstructs a lost inventory from the objects with the owner's label. It changes nothing. Since users and
// controllers copy objects with labels and annotations, an object counts only if its annotation also has the owner's
// ID, and if Options.FieldOwner has written to it (on servers that do not track field ownership: if it has no
// controller). Objects that hold inventories do not count.
//
// Apply then verifies each found object with an apply request, which changes the object only if it differs from its
// manifest, and does not recreate it. Rebuild cannot find purged objects. A *RefusedError means that the policies are
// invalid. Any other error means that the search is incomplete for a reason other than RebuildResult.Unlisted, and can
// be retried.
func (r *Reconciler) Rebuild(ctx context.Context, request RebuildRequest) (RebuildResult, error) {
	declared, err := prepare.Validate(request.Policies)
	if err != nil {
		return RebuildResult{}, err
	}
	result := RebuildResult{Inventory: slices.Clone(request.Known)}
	c := r.call(Owner{ID: request.ID}, nil, r.config)
	request.Policies = manifest.Or(declared, r.options.Policies)
	found, unlisted, err := findDependents(ctx, c, request)
	if err != nil {
		return RebuildResult{}, err
	}
	result.Unlisted = unlisted
	known := decide.Index(result.Inventory)
	for _, item := range found {
		if known[types.IDOf(item)] == nil {
			result.Inventory = append(result.Inventory, item)
			result.Found++
		}
	}
	decide.Sort(result.Inventory)
	return result, nil
}

// Plan returns the changes that Apply would make with the same request until it is done, and changes nothing. It
// assumes that all objects become ready, and that no other client changes them.
//
// Without PlanOptions, Plan makes requests only for watches and for objects that cannot be watched. An object that
// exists without our label then counts as absent, although Apply may adopt, correct or refuse it; PlanOptions.Ask
// detects that. An object that others may have changed is planned to stay as it is, with a Change.Reason;
// PlanOptions.Compare detects the changes.
//
// On-failure hooks are not part of the plan.
//
// If Apply would refuse the whole set (objects that contradict each other, invalid annotations), the error is a
// *RefusedError. If Apply would refuse one object, its Change.Refusal has the reason.
func (r *Reconciler) Plan(ctx context.Context, request ApplyRequest, options PlanOptions) (Plan, error) {
	request.Fence, request.Store = nil, unsaved{}
	c, err := r.begin(request, r.config.DryRun(), regular)
	if err != nil {
		return Plan{}, err
	}
	var recorded []*InventoryItem
	if c.saveFirst {
		recorded = c.call.Ledger.Snapshot()
	}
	if err := c.watch(ctx); err != nil {
		return Plan{}, err
	}
	plan, err := run.Plan(ctx, c.call, c.wanted, request.Inventory, request.Suspend, options)
	if err == nil {
		// A call of Apply with the same objects usually follows.
		c.call.Memory.Retain(c.set)
	}
	plan.Inventory = recorded
	return plan, err
}

// checkStale returns a *StaleError if a request would deviate from the plan that it expects.
func (r *Reconciler) checkStale(ctx context.Context, request ApplyRequest) error {
	if request.Expected == nil {
		return nil
	}
	now, err := r.Plan(ctx, request, PlanOptions{Ask: true})
	if err != nil {
		return err
	}
	return run.CheckStale(request.Expected, &now)
}

// unsaved is the store of a plan.
type unsaved struct{}

// Save does nothing.
func (unsaved) Save(context.Context, []*InventoryItem) error { return nil }
