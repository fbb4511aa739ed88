// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"math"
	"slices"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
	"github.com/component-operator/runtime/pkg/types"
)

// Apply applies the objects of the request, wave by wave, and prunes redundant dependents. It goes as far as it can
// without waiting, and returns how far it came; see the contract of the package.
//
// Objects are created, updated, adopted, corrected, purged and deleted as their annotations say. A wave has stages
// (regular objects, then APIServices, then instances of managed types); each begins when the one before is ready.
// Within a stage, objects that others refer to are written first, and webhook configurations that do not exist are
// created last. A dependent that was written before and has drifted is corrected even if an earlier wave is not ready,
// unless it is a webhook configuration that has vanished.
//
// Apply hooks are objects that run once for each Digest. Those with ApplyHookPostApply are applied when all other
// objects are ready, and redundant ones are gone; the call is done when they are ready. Those with ApplyHookOnFailure
// are applied as soon as other objects have failed, or were rejected by the API server or by admission control;
// Result.Aftermath says how far they are. One that has begun comes to its end even if nothing has failed any more, also
// with another Digest. A problem with them is no error.
//
// With ApplyRequest.Expected, nothing is done that was not planned, except that on-failure hooks run if something
// fails; see StaleError.
//
// The error is a *RefusedError if objects contradict each other, carry invalid annotations, belong to another owner, or
// are rejected by the API server. Other errors are worth a retry.
func (r *Reconciler) Apply(ctx context.Context, request ApplyRequest) (Result, error) {
	if err := r.checkStale(ctx, request); err != nil {
		return r.abort(ctx, request.Owner, err)
	}
	c, err := r.begin(request, r.server(), regular)
	if err != nil {
		return r.abort(ctx, request.Owner, err)
	}
	if err := c.open(ctx, request); err != nil {
		return r.abort(ctx, request.Owner, err)
	}
	var done bool
	if request.Suspend {
		done, err = c.waves.Suspend(ctx, c.wanted)
	} else {
		done, err = c.apply(ctx)
	}
	if err = c.call.Barriers.LiftUnreached(ctx, err); err != nil || c.waves.Misplaced {
		c.set = nil
	}
	c.call.Memory.Retain(c.set)
	result := finish(c.call, done && err == nil)
	if failed := request.Failed || hasFailed(result, err); !request.Suspend && (err == nil || execute.IsAboutObjects(err)) && c.hasAftermath(failed) {
		if unfollowed := r.follow(ctx, request, c.aftermath(failed), &result); unfollowed != nil {
			// Another call has to try again, even if the first error is final.
			err = execute.Join(err, unfollowed)
		}
	}
	return result, err
}

// apply applies the objects wave by wave, prunes, and then applies the post-apply hooks.
func (c *preparation) apply(ctx context.Context) (done bool, err error) {
	// They are sorted.
	first := prepare.FirstHook(c.wanted)
	if done, err = c.waves.Apply(ctx, c.wanted[:first]); err == nil && done {
		done, err = c.waves.Prune(ctx)
	}
	switch {
	case first == len(c.wanted):
		return done, err
	case err != nil || !done:
		// Hooks that have begun are looked at, too.
		return false, c.waves.Stop(ctx, err, c.wanted[first:])
	default:
		return c.waves.Apply(ctx, c.wanted[first:])
	}
}

// preparation is what follows from an ApplyRequest alone, before the first look at the cluster.
type preparation struct {
	call      *run.Call
	set       *prepare.Set
	wanted    []*prepare.Object // those of the set that this call applies, or their suspended forms, in the order in which they are applied
	apart     []*prepare.Object // the others
	manifests *prepare.Manifests
	waves     *run.Waves
	saveFirst bool // the inventory must be saved before the first write
}

// open watches the kinds, checks ownership, and saves the inventory: all that precedes the first write.
func (c *preparation) open(ctx context.Context, request ApplyRequest) error {
	if err := c.watch(ctx); err != nil {
		return err
	}
	if request.Expected != nil {
		c.call.Expect(request.Expected)
	}
	if err := c.waves.CheckOwnership(ctx, c.wanted); err != nil {
		return err
	}
	if c.saveFirst {
		return c.call.Ledger.Save(ctx)
	}
	return nil
}

// watch watches what the objects need, and sorts them by what it finds. All calls for a set watch the same, whichever
// of the objects they apply.
func (c *preparation) watch(ctx context.Context) error {
	watched := c.wanted
	for _, t := range c.apart {
		if c.call.Ledger.Of(t).Phase != "" {
			watched = append(slices.Clip(watched), t)
		}
	}
	if err := c.call.Needs.Watch(ctx, watched, prepare.Late); err != nil {
		return err
	}
	if err := run.WatchReads(ctx, c.call, watched); err != nil {
		return err
	}
	c.call.Tiers = run.Arrange(c.wanted, c.call.Ledger, c.call.Server.Observer)
	return nil
}

// check refuses limits and patterns that are invalid.
func (request ApplyRequest) check() error {
	if err := request.Deletions.Max.Validate(); err != nil {
		return inventory.NewRefusedError("max deletions: " + err.Error())
	}
	return checkManagedTypes(request.AdditionalManagedTypes)
}

// begin makes all decisions that need no look at the cluster. The call applies the objects that are selected; the
// others are left alone.
func (r *Reconciler) begin(request ApplyRequest, config execute.Config, choose selection) (*preparation, error) {
	declared, err := prepare.Validate(request.Policies)
	if err != nil {
		return nil, err
	}
	if err := request.check(); err != nil {
		return nil, err
	}
	source := prepare.Source{
		Objects: request.Objects, Version: request.Version, Namespace: request.Namespace, Digest: request.Digest, FormerDigest: request.FormerDigest,
		DigestKey: request.DigestKey, Policies: prepare.Or(declared, r.options.Policies), Additional: r.additionalTypes(request.Owner), RunOnce: request.RunOnce,
	}
	set, manifests, err := r.preparer().Prepare(source, r.memory.For(request.ID).Recall())
	if err != nil {
		return nil, err
	}
	wanted, apart := choose(set.Objects)
	manifests.Reset(wanted)
	if request.Suspend {
		if wanted, err = manifests.Suspended(wanted); err != nil {
			return nil, err
		}
	}
	plan := decide.Next(wanted, apart, request.Inventory, source.Policies.Prune)
	if request.RerunFailed {
		plan.RerunFailed(wanted)
	}
	plan.Release(manifests.Read(wanted))
	request.forDecisions().ProtectHome(plan.Items)
	if err := decide.Validate(set.Objects, plan.Items, source.Additional); err != nil {
		return nil, err
	}
	plan.ProtectUnwritten()
	r.judges.Assign(manifest.OwnerLabel(request.ID), request.Judge)
	call := r.callWith(request.Owner, plan.Items, config)
	r.judges.AssignObjects(call.Owner.Label, manifests.Judges(append(slices.Clip(wanted), apart...)))
	call.Ledger.DecisionsUnsaved = plan.NewOrphans
	call.Ledger.Want(len(set.Objects), wanted, plan.Wanted)
	call.Ledger.Want(len(set.Objects), apart, plan.Apart)
	call.Executor.Manifests = manifests
	call.Executor.CreateNamespaces = source.Policies.MissingNamespaces == MissingNamespacesPolicyCreate
	call.Deletions, call.Policies = request.Deletions, source.Policies
	call.Siblings = request.Siblings
	call.TakeOver = make(map[types.ObjectID]bool, len(request.TakeOver))
	for _, object := range request.TakeOver {
		call.TakeOver[types.IDOf(object)] = true
	}
	options := run.Options{RecordAdoptions: request.RecordAdoptions, CarryOn: request.CarryOn, AfterWave: request.AfterWave, Last: math.MinInt}
	for _, t := range wanted {
		options.Last = max(options.Last, t.ApplyOrder)
	}
	return &preparation{
		call: call, set: set, wanted: wanted, apart: apart, manifests: manifests, saveFirst: plan.SaveFirst,
		waves: run.New(call, options),
	}, nil
}

// call assembles the parts that serve one call for an owner.
func (r *Reconciler) call(owner Owner, items []*InventoryItem) *run.Call {
	return r.callWith(owner, items, r.server())
}

// callWith is call with another configuration of requests, such as that of a dry run.
func (r *Reconciler) callWith(owner Owner, items []*InventoryItem, config execute.Config) *run.Call {
	known := owner.forDecisions()
	c := &run.Call{
		Owner: known, Memory: r.memory.For(owner.ID), Report: decide.NewReporter(), Additional: r.additionalTypes(owner),
		Ledger: run.NewLedger(items, owner.Store, r.options.Clock),
	}
	r.judges.Share(known.Label, len(items))
	c.Needs = run.NewNeeds(c.Ledger, r.cache, r.judges, known.Label)
	c.Consent = run.NewConsent(c.Ledger, r.cache, owner.Fence, owner.Confirm)
	c.Server = &execute.Server{Config: config, Label: known.Label, Concurrency: r.options.MaxConcurrency, Permit: c.Consent.Permit}
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
	items := c.Ledger.Remaining()
	c.Memory.Keep(items)
	return Result{
		Inventory: items, Done: done, Wave: summary.Wave, WaveSize: summary.WaveSize,
		Waits: summary.Waits, Failures: summary.Failures, Unhealthy: summary.Unhealthy, Drift: summary.Drift, Notes: summary.Notes,
		Errors: summary.Errors, Held: summary.Held, Actions: summary.Actions, RequeueAfter: summary.RequeueAfter,
	}
}
