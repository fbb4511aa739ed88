// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/executor"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/report"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
)

// call assembles the parts that serve one call for an owner.
func (r *Reconciler) call(owner Owner, items []*InventoryItem) *calls.Call {
	return r.callWith(owner, items, r.server())
}

// callWith is call with another configuration of requests, such as that of a dry run.
func (r *Reconciler) callWith(owner Owner, items []*InventoryItem, config server.Config) *calls.Call {
	known, limiter := owner.forDecisions(), concurrent.NewLimiter(r.options.MaxConcurrency)
	c := &calls.Call{
		Owner: known, Memory: r.memory.For(owner.ID), Report: report.New(), Additional: r.additionalTypes(owner),
		Ledger: calls.NewLedger(items, owner.Store, r.options.Clock),
	}
	r.judges.Share(known.Label, len(items))
	c.Needs = calls.NewNeeds(c.Ledger, r.cache, r.judges, known.Label)
	c.Consent = calls.NewConsent(c.Ledger, r.cache, owner.Fence, owner.Confirm)
	c.Server = &server.Server{Config: config, Label: known.Label, Flow: limiter, Permit: c.Consent.Permit}
	c.Pacing = &calls.Pacing{Memory: c.Memory, Clock: r.options.Clock}
	c.Executor = &executor.Executor{
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
func finish(c *calls.Call, done bool) Result {
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
