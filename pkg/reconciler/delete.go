// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
	"github.com/component-operator/runtime/pkg/types"
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
	call := r.call(request.Owner, items, r.config)
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

// abort returns the result of a pass that could not begin, and lifts barriers that earlier passes have left.
func (r *Reconciler) abort(ctx context.Context, owner Owner, reason error) (Result, error) {
	inventory, err := r.LiftBarriers(ctx, DeleteRequest{Owner: owner})
	if err != nil {
		reason = execute.Join(reason, err)
	}
	return Result{Inventory: inventory}, reason
}

// LiftBarriers removes the barriers of an owner, so that instances of the types can be created again. A caller that has
// begun a deletion calls it if it is not going to call Apply or Delete for a while. It returns the inventory, which the
// caller must persist, and makes no request if there are no barriers.
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
	// ID is that of the owner. Required.
	ID string
	// Known are items that were not lost. The result has them as they are.
	Known []*InventoryItem
	// Objects are the wanted objects, as far as they are known. Rebuild lists their types.
	Objects []client.Object
	// Types are further types to list. A kind of "*" stands for all kinds of a group, a group of "*" for all groups.
	// The version is ignored: Rebuild uses one that is served.
	Types []TypeVersionInfo
	// Namespaces are listed one by one for types that the client may not list in the whole cluster.
	Namespaces []string
	// Policies of the owner, for objects whose annotations do not say otherwise.
	Policies Policies
}

// RebuildResult is the result of Reconciler.Rebuild.
type RebuildResult struct {
	// Inventory holds the known items and the found ones, in the order in which inventories are kept.
	Inventory []*InventoryItem
	// Found is the number of items that were not known.
	Found int
	// Unlisted are the types that could not be listed, because that is forbidden, or because their API does not answer
	// to discovery (then the kind is "*"). Sorted. They may have dependents that were not found.
	Unlisted []TypeInfo
}

// Rebuild makes a lost inventory again: it finds the objects with the label of the owner. It changes nothing. Since
// users and controllers copy objects with labels and annotations, an object counts only if its annotation has the
// owner's ID too, and if Options.FieldOwner has written to it (on servers that do not track field ownership: unless it
// has a controller). Objects that hold inventories do not count.
//
// Apply verifies a found object with an apply that changes nothing unless the object differs from its manifest, and
// does not recreate it. Purged objects cannot be found. An error means that the search is incomplete for another reason
// than RebuildResult.Unlisted, and is worth a retry.
func (r *Reconciler) Rebuild(ctx context.Context, request RebuildRequest) (RebuildResult, error) {
	declared, err := prepare.Validate(request.Policies)
	if err != nil {
		return RebuildResult{}, err
	}
	result := RebuildResult{Inventory: slices.Clone(request.Known)}
	c := r.call(Owner{ID: request.ID}, nil, r.config)
	request.Policies = prepare.Or(declared, r.options.Policies)
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

// Plan returns what Apply would do with the same request until it is done, and changes nothing. It assumes that all
// objects become ready, and that no other client changes them.
//
// Without PlanOptions, the only requests are those of watches, and reads of objects that cannot be watched. Then an
// object that exists without our label counts as absent, although Apply may adopt, correct or refuse it;
// PlanOptions.Ask tells. And an object that others may have changed is planned to stay as it is, which its
// Change.Reason says; PlanOptions.Compare tells.
//
// On-failure hooks are not part of the plan.
//
// If Apply would refuse the whole set (objects that contradict each other, invalid annotations), the error is a
// *RefusedError. If Apply would refuse one object, its Change.Refusal says why.
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

// checkStale returns a *StaleError if a request would do something else than the plan that it expects.
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
