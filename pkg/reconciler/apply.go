// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Apply applies the objects of the request, wave by wave, and prunes redundant dependents. It does as much as it can
// without waiting, and returns the progress; see the contract of the package.
//
// Objects are created, updated, adopted, corrected, purged and deleted according to their annotations. A wave has
// stages (regular objects, then APIServices, then instances of managed types); each begins when the one before is
// ready. Within a stage, objects that others refer to are written first, and webhook configurations that do not exist
// are created last. A dependent that was written before and has drifted is corrected even if an earlier wave is not
// ready, unless it is a webhook configuration that has vanished.
//
// Apply hooks are objects that run once for each Digest. Those with ApplyHookPostApply are applied when all other
// objects are ready, and redundant ones are gone; the call is done when they are ready. Those with ApplyHookOnFailure
// are applied as soon as other objects have failed, or were rejected by the API server or by admission control;
// Result.Aftermath reports their progress. A hook that has started runs to completion even if the failure is gone or
// the Digest has changed. Problems with these hooks are not returned as errors.
//
// With ApplyRequest.Expected, Apply makes only planned changes, except that on-failure hooks run if something fails;
// see StaleError.
//
// The error is a *RefusedError if objects contradict each other, carry invalid annotations, belong to another owner, or
// are rejected by the API server. Other errors can be retried.
func (r *Reconciler) Apply(ctx context.Context, request ApplyRequest) (Result, error) {
	if err := r.checkStale(ctx, request); err != nil {
		return r.abort(ctx, request.Owner, err)
	}
	c, err := r.begin(request, r.config, regular)
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
	// The objects are sorted, hooks last.
	first := prepare.FirstHook(c.wanted)
	if done, err = c.waves.Apply(ctx, c.wanted[:first]); err == nil && done {
		done, err = c.waves.Prune(ctx)
	}
	switch {
	case first == len(c.wanted):
		return done, err
	case err != nil || !done:
		// Hooks that have started are still observed and corrected.
		return false, c.waves.Stop(ctx, err, c.wanted[first:])
	default:
		return c.waves.Apply(ctx, c.wanted[first:])
	}
}

// preparation is the state of a call that follows from an ApplyRequest alone, before any dependent is observed.
type preparation struct {
	call      *run.Call
	set       *prepare.Set
	wanted    []*prepare.Object // those of the set that this call applies, or their suspended forms, in the order in which they are applied
	apart     []*prepare.Object // the others
	waves     *run.Waves
	saveFirst bool // the inventory must be saved before the first write
}

// open does everything that precedes the first write: it watches the kinds, checks ownership, and saves the inventory
// if necessary.
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

// watch starts the watches that the objects need, and sorts the objects by the result. All calls for a set watch the
// same kinds, no matter which of the objects they apply.
func (c *preparation) watch(ctx context.Context) error {
	watched := c.wanted
	for _, t := range c.apart {
		if c.call.Ledger.Of(t).Phase != "" {
			watched = append(slices.Clip(watched), t)
		}
	}
	if err := c.call.Watch(ctx, watched, prepare.Late); err != nil {
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
	return prepare.CheckManagedTypes(request.AdditionalManagedTypes)
}

// begin makes all decisions that do not depend on observed objects. The call applies only the objects that choose
// selects.
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
		DigestKey: request.DigestKey, Policies: manifest.Or(declared, r.options.Policies), Additional: r.additionalTypes(request.Owner), RunOnce: request.RunOnce,
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
	plan.ProtectUnwritten(wanted)
	r.config.Judges.Assign(manifest.OwnerLabel(request.ID), request.Judge)
	call := r.call(request.Owner, plan.Items, config)
	r.config.Judges.AssignObjects(call.Owner.Label, manifests.Judges(append(slices.Clip(wanted), apart...)))
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
	options := run.Options{
		Why: inventory.ReasonNotInManifests, RecordAdoptions: request.RecordAdoptions, CarryOn: request.CarryOn, AfterWave: request.AfterWave, Last: math.MinInt,
	}
	for _, t := range wanted {
		options.Last = max(options.Last, t.ApplyOrder)
	}
	return &preparation{
		call: call, set: set, wanted: wanted, apart: apart, saveFirst: plan.SaveFirst,
		waves: run.New(call, options),
	}, nil
}

// call returns the state of one call for an owner.
func (r *Reconciler) call(owner Owner, items []*InventoryItem, config execute.Config) *run.Call {
	known := owner.forDecisions()
	c := &run.Call{
		Owner: known, Memory: r.memory.For(owner.ID), Report: &decide.Reporter{}, Additional: r.additionalTypes(owner),
		Ledger: run.NewLedger(items, owner.Store, r.options.Clock),
	}
	r.config.Judges.Share(known.Label, len(items))
	c.Consent = run.NewConsent(c.Ledger, r.cache, owner.Fence, owner.Confirm)
	c.Server = &execute.Server{Config: config, Label: known.Label, OwnerUID: known.UID(), Concurrency: r.options.MaxConcurrency, Permit: c.Consent.Permit}
	c.Executor = &execute.Executor{
		Server: c.Server, Owner: known, Report: c.Report, Retains: r.options.RetainOutcomes,
		Finalizers: annotations.Finalizers{Current: r.options.Finalizer, Former: r.options.FormerFinalizers, Outcome: annotations.OutcomeFinalizer(r.name)},
		Reclaimed:  r.options.ReclaimedFieldManagers, ReclaimedNames: r.options.ReclaimedFieldManagerNames,
	}
	c.Losses = &guard.Losses{
		Server: c.Server, Owner: known, Configured: r.options.AdditionalManagedTypes, Memory: c.Memory, Items: items, Remaining: c.Ledger.Remaining,
	}
	c.Upgrades = &guard.Upgrades{Server: c.Server, NewValidator: guard.NewValidator(r.options.InstanceValidator), Pause: r.storagePause}
	c.Barriers = &guard.Barriers{
		Server: c.Server, Report: c.Report, Memory: c.Memory, Owner: known, Items: items, Name: r.name, Pause: r.barrierPause,
	}
	return c
}

// finish returns the result of a call.
func finish(c *run.Call, done bool) Result {
	result := c.Report.End()
	result.Inventory, result.Done = c.Ledger.Remaining(), done
	c.Memory.Keep(result.Inventory)
	return result
}

// CheckDeletion returns the blockers of a deletion: one instance of each managed type that has instances of others, for
// at most ten types. If there are blockers, the owner's subscription is notified after a delay that grows up to 30
// seconds, so that the caller checks again.
//
// Instances of additional managed types always count. Instances of a type do not count if the dependent that defines
// the type will be orphaned: they stay with it.
//
// Instances are listed as the client or, if that is forbidden, as the reconciler from which As created this one. Types
// that only Owner.AdditionalManagedTypes names are listed only as the client: if that is forbidden, CheckDeletion
// returns the API server's error, or nil if no dependent is left.
func (r *Reconciler) CheckDeletion(ctx context.Context, request DeleteRequest) ([]Blocker, error) {
	if err := prepare.CheckManagedTypes(request.AdditionalManagedTypes); err != nil {
		return nil, err
	}
	c := r.call(request.Owner, request.Inventory, r.config)
	for _, owner := range request.Departing {
		c.Losses.Departing = append(c.Losses.Departing, guard.Departing{Label: manifest.OwnerLabel(owner.ID), Items: owner.Inventory})
	}
	demands, err := c.Losses.Demands(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding the managed types: %w", err)
	}
	blockers, err := c.Losses.Instances(ctx, demands, manifest.OwnerLabel(request.ID))
	if apierrors.IsForbidden(err) && c.Losses.IsNothingLeft(ctx) {
		// The rights may have been deleted with the dependents, for example with a namespace. Nothing is left to
		// delete.
		err = nil
	}
	if execute.Is[*execute.UnknownTypeError](err) {
		return nil, types.NewRetriableError(fmt.Errorf("looking for instances of managed types: %w", err), new(guard.UnknownTypeDelay))
	}
	if err != nil {
		return nil, fmt.Errorf("looking for instances of managed types: %w", err)
	}
	if len(blockers) > 0 {
		r.cache.notifyAfter(c.Owner.Label, c.Memory.Retry(types.ObjectID{}, r.options.Clock.Now()))
	}
	return blockers, nil
}

// CheckNamespaces returns a notice for each dependent namespace that Delete would currently keep, because it contains
// objects that are neither dependents nor owned by other objects. Notices are warnings: some of these objects may be
// gone when Delete reaches the namespace, since other dependents created them. CheckNamespaces may make one request for
// each namespaced type in each of the namespaces.
func (r *Reconciler) CheckNamespaces(ctx context.Context, request DeleteRequest) ([]Notice, error) {
	call := r.deletion(request)
	var notices []Notice
	for _, item := range call.Ledger.Items {
		if !prepare.IsNamespace(item.GroupVersionKind().GroupKind()) || item.DeletePolicy == DeletePolicyOrphan || item.Phase == PhaseCompleted {
			continue
		}
		message, err := call.Losses.HoldNamespace(ctx, item)
		if err != nil {
			return nil, fmt.Errorf("looking for objects in namespace %s: %w", item.Name, err)
		}
		if message != "" {
			notices = append(notices, Notice{Object: item, Message: message})
		}
	}
	return notices, nil
}

// A selection splits the objects of a request into the objects that a call applies and the rest, and keeps their order.
type selection func(objects []*prepare.Object) (wanted, apart []*prepare.Object)

// regular selects all objects that are not on-failure hooks.
func regular(objects []*prepare.Object) (wanted, apart []*prepare.Object) {
	if !slices.ContainsFunc(objects, isOnFailure) {
		return objects, nil
	}
	wanted = slices.DeleteFunc(slices.Clone(objects), isOnFailure)
	apart = slices.DeleteFunc(slices.Clone(objects), func(t *prepare.Object) bool { return !isOnFailure(t) })
	return wanted, apart
}

func isOnFailure(t *prepare.Object) bool { return t.Hook == types.ApplyHookOnFailure }

// hasFailed reports whether a call has failed in a way that triggers on-failure hooks.
func hasFailed(result Result, err error) bool {
	return len(result.Failures) > 0 || execute.IsFailure(err)
}

// hasAftermath reports whether on-failure hooks have to be applied or awaited after a call.
func (c *preparation) hasAftermath(failed bool) bool {
	return slices.ContainsFunc(c.apart, func(t *prepare.Object) bool { return failed || isUnfinished(c.call, t, c.call.Ledger.Of(t)) })
}

// aftermath selects the on-failure hooks that have to be applied or awaited. Hooks that have started run to completion
// as applied, even if the failure is gone or the owner has changed since.
func (c *preparation) aftermath(failed bool) selection {
	return func(objects []*prepare.Object) (wanted, apart []*prepare.Object) {
		for _, t := range objects {
			item := c.call.Ledger.Of(t)
			isSame := item.Digest == t.Digest || slices.Contains(t.Former, item.Digest)
			unfinished := isOnFailure(t) && isUnfinished(c.call, t, item)
			switch {
			case isOnFailure(t) && failed && (isSame || !unfinished):
				wanted = append(wanted, t)
			case unfinished:
				ending := *t
				ending.Digest, ending.Former, ending.Ending = item.Digest, nil, true
				wanted = append(wanted, &ending)
			default:
				apart = append(apart, t)
			}
		}
		return wanted, apart
	}
}

// isUnfinished reports whether a hook has started and needs further work. If the process that created it ended before
// recording that, our finalizer is the evidence.
func isUnfinished(call *run.Call, t *prepare.Object, item *InventoryItem) bool {
	seen, view := call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	isHeld := view == observe.Present && call.Executor.Holds(decide.Situation{Exists: true, Seen: seen})
	switch {
	case item.Phase == "" || item.Phase == inventory.PhaseCompleted || decide.IsDismissed(item):
		return false
	case decide.IsCompleting(item) || item.Phase == inventory.PhaseFailed:
		return true
	case item.Phase == inventory.PhaseReady:
		return isHeld || t.PurgeOrder != nil
	case decide.IsWritten(item):
		return isHeld || t.PurgeOnFailure || item.Status != status.FailedStatus
	default:
		return isHeld
	}
}

// follow applies or awaits on-failure hooks after a call, and adds their progress to its result. It returns an error if
// the hooks cannot be prepared, nothing more may be written, or the inventory cannot be saved. Other problems with
// hooks must not hide the failure that triggered them.
func (r *Reconciler) follow(ctx context.Context, request ApplyRequest, choose selection, result *Result) error {
	request.Inventory, request.Expected, request.CarryOn, request.AfterWave = result.Inventory, nil, false, nil
	c, err := r.begin(request, r.config, choose)
	if err != nil || len(c.wanted) == 0 {
		return err
	}
	// This call does not prune.
	c.call.Policies.PruneAt = inventory.PruneAtEnd
	if err = c.open(ctx, request); err == nil {
		_, err = c.waves.Apply(ctx, c.wanted)
	}
	if c.waves.Misplaced {
		c.call.Memory.Retain(nil)
	}
	summary := finish(c.call, false)
	result.Inventory = summary.Inventory
	result.Aftermath = Aftermath{Waits: summary.Waits, Failures: summary.Failures}
	result.Notes, result.Drift = append(result.Notes, summary.Notes...), append(result.Drift, summary.Drift...)
	result.Actions, result.Errors = append(result.Actions, summary.Actions...), append(result.Errors, summary.Errors...)
	after := summary.RequeueAfter
	if err != nil && execute.IsAboutObjects(err) {
		_, refused := errors.AsType[*RefusedError](err)
		result.Aftermath.Lasting = refused || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apiserver.IsRejected(err)
		if !refused {
			after = cmp.Or(after, problemDelay)
		}
		result.Aftermath.Problem, err = err.Error(), nil
	}
	if after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	if err != nil {
		return fmt.Errorf("applying on-failure hooks: %w", err)
	}
	return nil
}

// problemDelay is the delay before hooks are applied again after a problem that is not in their manifests.
const problemDelay = 30 * time.Second
