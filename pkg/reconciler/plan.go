// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/reconciler/internal/plans"
)

// PlanOptions configure Reconciler.Plan. The zero value works.
type PlanOptions struct {
	// Compare has the server say what would become of each object that is not known to be as it should be, by dry runs.
	// Defaults to what the observer and the inventory tell, without requests.
	Compare bool
	// LeftAlone, with Compare, also compares dependents whose drift is left alone because their drift policies say so. Their changes
	// have no verb; Before, After and Changed show what would be put right otherwise. Defaults to no.
	LeftAlone bool
}

// Plan returns what Apply would do with the same request, from now until it is done, without changing anything. It supposes that
// all objects become ready, and that nobody else changes them.
//
// Without PlanOptions.Compare there are no requests besides those of the observer, and for objects of which it cannot tell anything.
// Then an object that exists without our label counts as absent, although it may be adopted, corrected or refused; and one of which it
// is not certain that nobody changed it is said to stay as it is, with that as the reason.
//
// What Apply would refuse as a whole (objects that contradict each other, bad annotations) is a *RefusedError; what it would
// refuse about one object is a Change.Refusal.
func (r *Reconciler) Plan(ctx context.Context, request ApplyRequest, options PlanOptions) (Plan, error) {
	request.Fence = nil
	c, err := r.begin(request, r.server().DryRun())
	if err != nil {
		return Plan{}, err
	}
	var recorded []*InventoryItem
	if c.grown {
		recorded = c.call.Ledger.Snapshot()
	}
	planned := plans.Options{Compare: options.Compare, LeftAlone: options.LeftAlone, CreatesNamespaces: c.call.Executor.CreateNamespaces}
	// That a namespace is missing is to be seen.
	c.call.Executor.CreateNamespaces = false
	plan, err := plans.Make(flow.WithLimiter(ctx, c.call.Server.Flow), c.call, c.set.Targets, request.Inventory, planned)
	if err == nil {
		// Apply mostly follows.
		c.manifests.Keep(c.set)
		c.call.Memory.Retain(c.set)
	}
	plan.Inventory = recorded
	return plan, err
}
