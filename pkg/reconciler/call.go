// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
)

// call assembles the parts that serve one call for an owner.
func (r *Reconciler) call(owner Owner, items []*InventoryItem) *run.Call {
	return r.callWith(owner, items, r.server())
}

// callWith is call with another configuration of requests, such as that of a dry run.
func (r *Reconciler) callWith(owner Owner, items []*InventoryItem, config execute.Config) *run.Call {
	known, limiter := owner.forDecisions(), concurrent.NewLimiter(r.options.MaxConcurrency)
	c := &run.Call{
		Owner: known, Memory: r.memory.For(owner.ID), Report: decide.NewReporter(), Additional: r.additionalTypes(owner),
		Ledger: run.NewLedger(items, owner.Store, r.options.Clock),
	}
	r.judges.Share(known.Label, len(items))
	c.Needs = run.NewNeeds(c.Ledger, r.cache, r.judges, known.Label)
	c.Consent = run.NewConsent(c.Ledger, r.cache, owner.Fence, owner.Confirm)
	c.Server = &execute.Server{Config: config, Label: known.Label, Flow: limiter, Permit: c.Consent.Permit}
	c.Pacing = &run.Pacing{Memory: c.Memory, Clock: r.options.Clock}
	c.Executor = &execute.Executor{
		Server: c.Server, Owner: known, Report: c.Report, Finalizers: r.finalizers(), Retains: r.options.RetainOutcomes, Reclaimed: r.options.ReclaimedFieldManagers,
		ReclaimedNames: r.options.ReclaimedFieldManagerNames,
	}
	c.Losses = &guard.Losses{
		Server: c.Server, Owner: known, Configured: r.options.AdditionalManagedTypes, Memory: c.Memory, Items: items, Remaining: c.Ledger.Remaining,
	}
	c.Barriers = &guard.Barriers{
		Server: c.Server, Report: c.Report, Memory: c.Memory, Owner: known, Items: items, Name: r.name, Pause: r.barrierPause,
	}
	return c
}

// finish returns the result of a call.
func finish(c *run.Call, done bool) Result {
	summary := c.Report.End()
	c.Server.Observer.Guard(c.Owner.Label, summary.Guarded)
	items := c.Ledger.Remaining()
	c.Memory.Keep(items)
	return Result{
		Inventory: items, Done: done, Wave: summary.Wave, WaveSize: summary.WaveSize,
		Waits: summary.Waits, Failures: summary.Failures, Unhealthy: summary.Unhealthy, Drift: summary.Drift, Notes: summary.Notes,
		Errors: summary.Errors, Held: summary.Held, Actions: summary.Actions, RequeueAfter: summary.RequeueAfter,
	}
}
