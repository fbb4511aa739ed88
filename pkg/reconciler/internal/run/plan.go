// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Plan returns the changes that applying the sorted desired objects of a call would make. It walks through the waves,
// records the decisions, and assumes that all applied objects become ready. recorded is the inventory before the call.
// With suspend, it plans only the suspended forms. The server of the call must make dry runs only, and its ledger must
// not be saved.
func Plan(
	ctx context.Context, call *Call, wanted []*prepare.Object, recorded []*inventory.Item, suspend bool, options inventory.PlanOptions,
) (inventory.Plan, error) {
	p, err := newPlanned(call, wanted, recorded, options)
	if err != nil {
		return inventory.Plan{}, err
	}
	w := newWaves(call, p, Options{Why: inventory.ReasonNotInManifests})
	p.waves, w.steps = w, nil
	if suspend {
		if _, err = w.Suspend(ctx, wanted); err == nil {
			p.endTier(wanted)
		}
	} else {
		err = p.walk(ctx, w, wanted)
	}
	if err != nil {
		return inventory.Plan{}, fmt.Errorf("planning: %w", err)
	}
	return p.plan(wanted, suspend), nil
}

func newPlanned(call *Call, wanted []*prepare.Object, recorded []*inventory.Item, options inventory.PlanOptions) (*planned, error) {
	p := &planned{
		call: call, preview: execute.NewPreview(call.Executor, wanted, call.Ledger.Of), recorded: decide.Index(recorded), entries: map[types.ObjectID]*entry{},
		served: map[schema.GroupVersionKind]bool{}, types: prepare.TypeSet{Items: map[types.ObjectID][]inventory.TypeVersionInfo{}},
	}
	// The plan has to see that a namespace is missing.
	p.preview.CreatesNamespaces, call.Executor.CreateNamespaces = call.Executor.CreateNamespaces, false
	switch {
	case options.Compare:
		p.depth, p.preview.LeftAlone, p.preview.Unprivileged = depthCompared, options.LeftAlone, options.Unprivileged
	case options.Ask:
		p.depth = depthAsked
	}
	for _, item := range call.Ledger.Redundant() {
		p.entries[types.IDOf(item)] = &entry{Change: inventory.Change{Object: item.Info(), Wave: item.DeleteOrder}}
	}
	for _, t := range wanted {
		change, err := p.change(t)
		if err != nil {
			return nil, err
		}
		p.entries[t.Key] = &entry{Change: change}
	}
	return p, nil
}

// walk goes through everything that Apply does until it is done.
func (p *planned) walk(ctx context.Context, w *Waves, wanted []*prepare.Object) error {
	hooks := prepare.FirstHook(wanted)
	if _, _, err := w.walk(ctx, wanted[:hooks]); err != nil {
		return err
	}
	if _, err := w.Prune(ctx); err != nil {
		return err
	}
	_, _, err := w.walk(ctx, wanted[hooks:])
	return err
}

// plan assembles the plan. The desired objects are in the order of their waves.
func (p *planned) plan(wanted []*prepare.Object, suspend bool) inventory.Plan {
	changes := make([]inventory.Change, len(wanted))
	for i, t := range wanted {
		changes[i] = p.entries[t.Key].Change
	}
	if !suspend {
		items := p.call.Ledger.Redundant()
		p.call.SortDeletion(items)
		redundant := make([]inventory.Change, len(items))
		for i, item := range items {
			redundant[i] = p.entries[types.IDOf(item)].Change
		}
		changes = p.ordered(changes, redundant)
	}
	return inventory.Plan{Changes: p.noted(changes), Held: p.held, Namespaces: p.preview.MissingNamespaces()}
}

// change returns the parts of a change that do not depend on the object in the cluster.
func (p *planned) change(t *prepare.Object) (inventory.Change, error) {
	item := p.call.Ledger.Of(t)
	change := inventory.Change{Object: item.Info(), Wave: t.ApplyOrder, Notes: slices.Clone(t.Notes)}
	content := t.Digest
	if content == prepare.DigestLate || content == prepare.DigestOnce && item.Phase == inventory.PhaseScheduledForApplication {
		// All objects that are applied once have the same digest, and so have all late objects; but this one still has
		// to be applied, so its content counts.
		object, err := p.call.Executor.Manifests.Of(t)
		if err != nil {
			return change, err
		}
		if content, err = prepare.DigestOf(object, inventory.ReconcilePolicyOnObjectChange, ""); err != nil {
			return change, err
		}
	}
	sum, err := digestOf(content, t.Effective)
	if err != nil {
		return change, fmt.Errorf("computing the digest of %s: %w", t.Key, err)
	}
	change.Digest = sum
	return change, nil
}

// digestOf returns the digest by which a saved plan notices that a manifest or its policies have changed. Purging and
// apply orders are part of the content, because only annotations set them.
func digestOf(content string, b prepare.Effective) (string, error) {
	parts := []string{content, string(b.Adoption), string(b.Reconcile), string(b.Update), string(b.Delete), string(b.Drift)}
	if b.DeleteOrder != 0 {
		parts = append(parts, strconv.Itoa(b.DeleteOrder))
	}
	if b.DeletePropagation != "" {
		parts = append(parts, string(b.DeletePropagation))
	}
	if b.Prune != "" {
		parts = append(parts, "prune", string(b.Prune))
	}
	sum, err := manifest.Digest(parts)
	if err != nil {
		return "", err
	}
	return sum[:len(sum)/2], nil
}

// describe completes a change from a decision.
func (p *planned) describe(change *inventory.Change, t *prepare.Object, d decide.Decision, s decide.Situation) {
	item := p.call.Ledger.Of(t)
	change.Verb, change.Recreate, change.Repeats, change.Reason = "", false, false, d.Message
	switch d.Action {
	case decide.Refuse:
		change.Reason, change.Refusal, change.Foreign = "", d.Message, s.Seen.Record == ""
	case decide.Await:
		next := decide.Apply(t, item, decide.Situation{Owner: p.call.Owner.Label, Proven: true, Typed: true})
		change.Verb = next.Verb
	case decide.Create, decide.Write, decide.Recreate, decide.Mark, decide.Complete:
		change.Verb, change.Recreate = d.Verb, d.Action == decide.Recreate
		change.Reason, change.Repeats = p.because(t, d), p.repeats(t, d)
	case decide.Cede:
		change.Holder = s.Holder
	case decide.Keep, decide.Ask, decide.Verify, decide.Compare, decide.Report, decide.Dismiss:
	}
}

// because returns a more precise reason for applying a manifest.
func (p *planned) because(t *prepare.Object, d decide.Decision) string {
	recorded := p.recorded[t.Key]
	switch {
	case d.Verb == inventory.VerbCreated && recorded != nil && recorded.Phase == inventory.PhaseCompleted:
		return "has completed, and runs again"
	case d.Verb != inventory.VerbUpdated || recorded == nil || d.Message == decide.RunsAgain || d.Message == decide.Unrecorded:
		return d.Message
	case decide.HasOtherFormat(recorded):
		return "was recorded in another format"
	case recorded.Digest == t.Digest:
		return "was not written yet"
	case decide.IsRedundant(recorded):
		return "is in the manifests again"
	case t.Reconcile == inventory.ReconcilePolicyOnObjectOrComponentChange && sameManifest(recorded.Digest, t.Digest):
		return "the owner changed"
	default:
		return d.Message
	}
}

// repeats reports whether a manifest that was applied before is applied again only because the owner has changed.
func (p *planned) repeats(t *prepare.Object, d decide.Decision) bool {
	recorded := p.recorded[t.Key]
	switch {
	case recorded == nil || t.Reconcile != inventory.ReconcilePolicyOnObjectOrComponentChange || d.Message == decide.RunsAgain:
		return false
	case d.Verb != inventory.VerbUpdated && d.Verb != inventory.VerbCreated:
		return false
	case recorded.Phase == inventory.PhaseScheduledForApplication || decide.IsRedundant(recorded):
		return false
	default:
		return recorded.Digest != t.Digest && sameManifest(recorded.Digest, t.Digest)
	}
}

// sameManifest reports whether two digests are equal apart from the digest of the owner.
func sameManifest(a, b string) bool {
	a, _, _ = strings.Cut(a, "@")
	b, _, _ = strings.Cut(b, "@")
	return a == b
}

// ordered returns the changes of desired and of redundant objects in the order in which they are made. Both are in the
// order of their waves.
func (p *planned) ordered(desired, redundant []inventory.Change) []inventory.Change {
	var changes []inventory.Change
	if p.call.Policies.PruneAt == inventory.PruneAtWaves {
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
func (p *planned) noted(changes []inventory.Change) []inventory.Change {
	notes := map[types.ObjectID][]string{}
	for _, notice := range p.call.Report.End().Notes {
		notes[types.IDOf(notice.Object)] = append(notes[types.IDOf(notice.Object)], notice.Message)
	}
	for i := range changes {
		messages := slices.Concat(changes[i].Notes, notes[types.IDOf(changes[i].Object)])
		slices.Sort(messages)
		changes[i].Notes = slices.Compact(messages)
	}
	return changes
}
