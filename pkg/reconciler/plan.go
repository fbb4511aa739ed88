// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"

	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
)

// PlanOptions configure Reconciler.Plan. The zero value works.
type PlanOptions struct {
	// Ask reads each object that the watches do not show, because it may exist without our label. Defaults to no.
	// Compare includes it.
	Ask bool
	// Compare makes a dry run of each object that is not known to be up to date. Defaults to no: the plan is made from
	// watches and the inventory, without requests.
	Compare bool
	// LeftAlone, with Compare, also compares dependents whose drift is not corrected because of their drift policies.
	// Their changes have no verb; Before, After and Changed show what would be corrected otherwise. Defaults to no.
	LeftAlone bool
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
	c, err := r.begin(request, r.server().DryRun(), regular)
	if err != nil {
		return Plan{}, err
	}
	var recorded []*InventoryItem
	if c.saveFirst {
		recorded = c.call.Ledger.Snapshot()
	}
	planned := run.PlanOptions{
		Suspend: request.Suspend, Ask: options.Ask, Compare: options.Compare, LeftAlone: options.LeftAlone,
		CreatesNamespaces: c.call.Executor.CreateNamespaces,
	}
	// The plan has to see that a namespace is missing.
	c.call.Executor.CreateNamespaces = false
	if err := c.watch(ctx); err != nil {
		return Plan{}, err
	}
	plan, err := run.Plan(ctx, c.call, c.wanted, request.Inventory, planned)
	if err == nil {
		// A call of Apply with the same objects usually follows.
		c.manifests.Keep(c.set)
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
