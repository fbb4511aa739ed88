// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/internal/observe"
)

// Apply brings the objects of the request into the cluster, wave by wave, and removes what the inventory records
// beyond them. It goes as far as it can without waiting and returns how far it came; see the contract of the package.
//
// Objects are created, updated, adopted, corrected, purged and deleted as their annotations say. A wave is worked upon in
// stages (regular objects, then APIServices, then instances of managed types), each of which begins when the
// one before is ready; within a stage objects that others refer to are written first, and webhook configurations that do not exist
// are created when everything else has been written. A dependent that was written before and has drifted is corrected even if an earlier
// wave is not ready, unless it is a webhook configuration that has vanished.
//
// With ApplyRequest.Expected, nothing is done that was not planned; see StaleError.
//
// The error is a *RefusedError if the objects contradict each other, carry bad annotations, belong to somebody else, or are
// rejected by the server. Other errors are worth a retry.
func (r *Reconciler) Apply(ctx context.Context, request ApplyRequest) (Result, error) {
	c, err := r.begin(request)
	if err != nil {
		return r.retreat(ctx, request.Owner, err)
	}
	p, targets := c.pass, c.prepared.targets
	ctx = flow.WithLimiter(ctx, p.flow)
	if err := p.open(ctx, c, request); err != nil {
		return r.retreat(ctx, request.Owner, err)
	}
	ready, err := p.applyWaves(ctx, targets)
	if err == nil && ready {
		err = p.deleteRedundant(ctx)
	}
	if err = p.liftUnreached(ctx, err); err != nil || p.misplaced {
		c.prepared = nil
	}
	r.memory.retain(request.ID, c.prepared)
	return p.finish(), err
}

// open does what comes before the first dependent is touched.
func (p *pass) open(ctx context.Context, c *course, request ApplyRequest) error {
	targets := c.prepared.targets
	if err := p.watch(ctx, targets, stageLate); err != nil {
		return err
	}
	p.tiers = arrange(targets, p.works, p.cache)
	if err := p.expect(ctx, c, request); err != nil {
		return err
	}
	if err := p.checkOwnership(targets); err != nil {
		return err
	}
	if c.grown {
		return p.save(ctx)
	}
	return nil
}

// course is what a call of Apply begins with: all that follows from the request alone.
type course struct {
	pass     *pass
	prepared *prepared // its targets are in the order in which they are applied
	grown    bool      // the inventory must be saved before the first write
}

// begin decides what can be decided without looking at the cluster.
func (r *Reconciler) begin(request ApplyRequest) (*course, error) {
	policies, err := request.Policies.validated()
	if err != nil {
		return nil, err
	}
	policies = policies.or(r.options.Policies)
	prepared, objects, err := r.prepare(request, policies)
	if err != nil {
		return nil, err
	}
	targets := prepared.targets
	plan := planInventory(targets, request.Inventory)
	request.settle(plan.items)
	if err := validatePlan(targets, plan.items, prepared.additional); err != nil {
		return nil, err
	}
	plan.spare()
	p := r.newPass(request.Owner, plan.items)
	p.releases = plan.releases
	if p.aliases, err = newAliases(plan.wanted, plan.items); err != nil {
		return nil, err
	}
	p.assign(targets, plan.wanted, objects, request.Objects)
	p.createNamespaces = policies.MissingNamespaces == MissingNamespacesPolicyCreate
	p.takeOver = make(map[objectKey]bool, len(request.TakeOver))
	for _, object := range request.TakeOver {
		p.takeOver[keyOf(object)] = true
	}
	p.recordAdoptions = request.RecordAdoptions
	return &course{pass: p, prepared: prepared, grown: plan.grown}, nil
}

// checkOwnership refuses objects of which the observer knows already that they belong to another owner. Those that only
// the server knows are refused when they are to be created.
func (p *pass) checkOwnership(targets []*target) error {
	var problems []string
	for _, t := range targets {
		item := p.item(t)
		if item.written() || item.completing() || t.adoption == AdoptionPolicyAlways || p.takeOver[t.key] {
			continue
		}
		seen, view := p.cache.Get(t.gvk(), t.key.namespace, t.key.name)
		if view != observe.Present || seen.Owner == p.label || seen.Deleting {
			continue
		}
		if d := decideForeign(t, item, situation{owner: p.label, exists: true, seen: seen}); d.action == actionRefuse {
			problems = append(problems, fmt.Sprintf("%s: %s", t.key, d.message))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	refusal := refused(problems...)
	refusal.Foreign = true
	return refusal
}

// deleteRedundant deletes, after all objects are ready, what is no longer among them.
func (p *pass) deleteRedundant(ctx context.Context) error {
	var unwanted []*InventoryItem
	for _, item := range p.items {
		if item.unwanted() {
			unwanted = append(unwanted, item)
		}
	}
	gone, err := p.deleteWaves(ctx, unwanted)
	if err != nil {
		return fmt.Errorf("deleting objects that are no longer wanted: %w", err)
	}
	p.result.Done = gone
	return nil
}
