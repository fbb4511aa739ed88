// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/steps"
	"github.com/component-operator/runtime/pkg/types"
)

// Options are the options of a plan.
type Options struct {
	// Ask reads objects that may exist without our label.
	Ask bool
	// Compare makes a dry run of each object that is not known to be up to date.
	Compare bool
	// LeftAlone, with Compare, also compares dependents whose drift is not corrected because of their drift policies.
	LeftAlone bool
	// Watched are the objects whose kinds are watched.
	Watched []*desired.Object
	// Suspend plans nothing but the suspended forms among the desired objects.
	Suspend bool
	// CreatesNamespaces means that Apply would create missing namespaces.
	CreatesNamespaces bool
}

// Make returns what applying the desired objects of a call would do. It sorts the desired objects. Recorded is the inventory before the call. The
// server of the call must make dry runs only.
func Make(ctx context.Context, call *calls.Call, wanted []*desired.Object, recorded []*inventory.Item, options Options) (inventory.Plan, error) {
	planner := newPlanner(call, wanted, recorded, depthTold)
	switch {
	case options.Compare:
		planner.depth = depthCompared
		planner.preview.leftAlone = options.LeftAlone
	case options.Ask:
		planner.depth = depthAsked
	}
	planner.watched = options.Watched
	planner.preview.createsNamespaces, planner.suspend = options.CreatesNamespaces, options.Suspend
	return planner.plan(ctx)
}

// plan plans all dependents, beginning with namespaces and objects that define types, because plans for other objects depend on
// theirs.
func (p *planner) plan(ctx context.Context) (inventory.Plan, error) {
	if err := p.watchServed(ctx); err != nil {
		return inventory.Plan{}, err
	}
	if err := steps.Watch(ctx, p.call, p.objects); err != nil {
		return inventory.Plan{}, err
	}
	p.call.Tiers = calls.Arrange(p.objects, p.call.Ledger, p.call.Server.Observer)
	changes := make([]inventory.Change, len(p.objects))
	var first, rest []int
	for i, t := range p.objects {
		switch {
		case t.Late:
		case kinds.DefinesTypes(t.Key.GroupKind) || kinds.IsNamespace(t.Key.GroupKind):
			first = append(first, i)
		default:
			rest = append(rest, i)
		}
	}
	wanted := func(i int) (err error) {
		changes[i], err = p.wanted(ctx, p.objects[i])
		return err
	}
	if err := p.all(ctx, first, wanted); err != nil {
		return inventory.Plan{}, err
	}
	for _, i := range first {
		if err := p.notePrerequisite(p.objects[i], changes[i]); err != nil {
			return inventory.Plan{}, err
		}
	}
	if err := p.all(ctx, rest, wanted); err != nil {
		return inventory.Plan{}, err
	}
	data := dataFlow{planner: p, steps: steps.New(p.call), changes: changes}
	if err := data.plan(ctx); err != nil {
		return inventory.Plan{}, fmt.Errorf("planning: %w", err)
	}
	p.refuseAliases(changes)
	if p.suspend {
		return inventory.Plan{Changes: p.noted(changes), Namespaces: p.preview.missingNamespaces()}, nil
	}
	items := p.call.Ledger.Redundant()
	p.call.SettleKept(items)
	p.call.SortDeletion(items)
	redundant, held, err := p.redundant(ctx, items)
	return inventory.Plan{Changes: p.noted(p.ordered(changes, redundant)), Held: held, Namespaces: p.preview.missingNamespaces()}, err
}

// ordered returns the changes of desired and of redundant objects in the order in which they are made. Both are in the order of their waves.
func (p *planner) ordered(desired, redundant []inventory.Change) []inventory.Change {
	var changes []inventory.Change
	if p.call.Policies.PruneAt == inventory.PruneAtWaves && !p.call.MayBeWanted() {
		for _, change := range desired {
			for len(redundant) > 0 && redundant[0].Wave <= change.Wave {
				changes, redundant = append(changes, redundant[0]), redundant[1:]
			}
			changes = append(changes, change)
		}
		desired = nil
	}
	hooks := slices.IndexFunc(desired, func(change inventory.Change) bool { return change.Wave > types.MaxOrder })
	if hooks < 0 {
		hooks = len(desired)
	}
	return slices.Concat(changes, desired[:hooks], redundant, desired[hooks:])
}

// noted adds the notes of the report to the changes of their objects.
func (p *planner) noted(changes []inventory.Change) []inventory.Change {
	notes := map[types.ObjectID][]string{}
	for _, notice := range p.call.Report.End().Notes {
		notes[types.IDOf(notice.Object)] = append(notes[types.IDOf(notice.Object)], notice.Message)
	}
	for i := range changes {
		object := &changes[i].Object
		messages := slices.Concat(changes[i].Notes, notes[types.IDOf(&inventory.Item{TypeVersionInfo: object.TypeVersionInfo, NameInfo: object.NameInfo})])
		slices.Sort(messages)
		changes[i].Notes = slices.Compact(messages)
	}
	return changes
}

// all does the work for all indexes concurrently.
func (p *planner) all(ctx context.Context, indexes []int, work func(int) error) error {
	var failures calls.Failures
	flow.Each(ctx, p.call.Server.Flow, indexes, func(i int) { failures.Add(work(i)) })
	if err := failures.Err(); err != nil {
		return fmt.Errorf("planning: %w", err)
	}
	return nil
}

// refuseAliases refuses wanted objects that are the same object as another one.
func (p *planner) refuseAliases(changes []inventory.Change) {
	for i, t := range p.objects {
		change := &changes[i]
		if refusal := p.call.Aliases.Refusal(t, change.UID); refusal != "" && change.Refusal == "" {
			change.Verb, change.Reason, change.Recreate, change.Before, change.After = "", "", false, nil, nil
			change.Refusal = refusal
		}
	}
}
