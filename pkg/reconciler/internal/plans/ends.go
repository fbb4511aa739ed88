// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/losses"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// redundant returns what Apply would do with redundant objects, which are in delete order, and those that it would not delete without approval.
func (p *planner) redundant(ctx context.Context, items []*inventory.Item) ([]inventory.Change, *inventory.HeldDeletions, error) {
	changes, endings := make([]inventory.Change, len(items)), make([]decisions.Ending, len(items))
	indexes := make([]int, len(items))
	for i := range items {
		indexes[i] = i
	}
	err := p.all(ctx, indexes, func(i int) error {
		changes[i] = inventory.Change{Object: items[i].Info(), Wave: items[i].DeleteOrder}
		d := decisions.Deletion{Orphan: items[i].DeletePolicy == inventory.DeletePolicyOrphan, Verb: inventory.VerbDeleted}
		var err error
		endings[i], err = p.planEnd(ctx, &changes[i], items[i], d, inventory.ReasonNotInManifests)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	held, err := p.hold(changes, items, endings)
	if err != nil {
		return nil, nil, err
	}
	return changes, held, p.all(ctx, indexes, func(i int) error {
		if endings[i] == decisions.Orphan || changes[i].Verb == "" || changes[i].Before == nil {
			return nil
		}
		return p.addBlockers(ctx, &changes[i], items[i])
	})
}

// hold changes the changes of redundant objects that would not be deleted without approval, and describes these objects; nil if there are none.
func (p *planner) hold(changes []inventory.Change, items []*inventory.Item, endings []decisions.Ending) (*inventory.HeldDeletions, error) {
	var candidates []calls.Candidate
	index := map[*inventory.Item]int{}
	for i, item := range items {
		confirm := endings[i] == decisions.AwaitApproval
		if (confirm || endings[i] == decisions.RequestDeletion) && calls.NeedsApproval(item) {
			candidates = append(candidates, calls.Candidate{Item: item, UID: changes[i].UID, Confirm: confirm})
			index[item] = i
		}
	}
	concerned, held, approved, err := p.call.Hold(candidates)
	if err != nil {
		return nil, err
	}
	if held == nil || approved {
		p.retain(changes, items, endings)
		return nil, nil //nolint:nilnil // nothing is held
	}
	for _, candidate := range concerned {
		p.call.Losses.Stay(candidate.Item)
		change := &changes[index[candidate.Item]]
		change.Verb, change.Stays, change.Before, change.After = "", true, nil, nil
		change.Reason += "; it is kept until its deletion is approved: " + held.String()
	}
	p.retain(changes, items, endings)
	return held, nil
}

// retained says why an object stays that has no prune policy to that effect.
const retained = "; it is kept because other objects are kept that would be deleted with it"

// retain changes the changes of redundant objects that stay because of others that do.
func (p *planner) retain(changes []inventory.Change, items []*inventory.Item, endings []decisions.Ending) {
	for i, item := range items {
		if endings[i] == decisions.Stay {
			p.call.Losses.Stay(item)
		}
	}
	for i, item := range items {
		if endings[i] == decisions.RequestDeletion && changes[i].Verb != "" && p.call.Losses.Retains(item) {
			p.call.Losses.Stay(item)
			changes[i].Verb, changes[i].Stays, changes[i].Before, changes[i].After = "", true, nil, nil
			changes[i].Reason += retained
		}
	}
}

// planPurge plans that an object, which is up to date, is deleted because it has served its purpose or has failed.
func (p *planner) planPurge(change *inventory.Change, t *desired.Object, s decisions.Situation) {
	switch {
	case !s.Exists:
	case t.PurgeOnFailure && s.Seen.Status == status.FailedStatus && bookkeeping.IsWritten(p.call.Ledger.Of(t)):
		change.Verb, change.Reason = inventory.VerbDeleted, "has failed"
	case t.PurgeOrder != nil:
		change.Verb, change.Reason = inventory.VerbCompleted, "has served its purpose"
	}
}

// lookForEnd is look for an object that is going to be deleted.
func (p *planner) lookForEnd(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	s, err := p.look(ctx, item)
	if err == nil && s.Live == nil && !s.Proven && (p.depth == depthCompared || p.depth == depthAsked && !s.Exists) {
		return p.read(ctx, item)
	}
	return s, err
}

// planEnd decides as Remover.deleteOne does, and returns the decision.
func (p *planner) planEnd(ctx context.Context, change *inventory.Change, item *inventory.Item, d decisions.Deletion, why string) (decisions.Ending, error) {
	s, err := p.lookForEnd(ctx, item)
	if apierrors.IsForbidden(err) {
		// Apply meets this error only after it has applied all objects.
		change.Verb, change.Reason = d.Verb, fmt.Sprintf("%s; it cannot be read: %s", why, err)
		switch p.call.Prune(item, observe.Observation{}) {
		case inventory.PrunePolicyKeep:
			change.Verb, change.Stays = "", true
			return decisions.Stay, nil
		case inventory.PrunePolicyConfirm:
			return decisions.AwaitApproval, nil
		case inventory.PrunePolicyDelete:
		}
		return decisions.RequestDeletion, nil
	}
	if err != nil {
		return decisions.RefuseEnd, fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
	}
	calls.NoteState(change, s, p.call.Server.Keys)
	change.Reason = why
	if bookkeeping.IsRedundant(item) {
		s.WantedAs = p.call.Aliases.Of(s.Seen.UID)
	}
	d.Prune = p.call.Prune(item, s.Seen)
	ending, message := p.call.Owner.Ending(item, s, d)
	describeEnd(change, item, d, ending, message)
	if ending == decisions.Stay && p.call.Losses.Retains(item) {
		change.Reason = why + retained
	}
	if reason := p.call.Owner.WhyOrphaned(item); reason != "" && ending == decisions.Orphan {
		change.Reason += "; it " + reason
	}
	if p.depth != depthCompared || change.Verb == "" || s.Live == nil {
		return ending, nil
	}
	change.Before = calls.Presentable(s.Live, p.call.Server.Keys)
	if ending == decisions.Orphan {
		change.After = p.preview.orphaned(s.Live)
	}
	return ending, nil
}

// describeEnd completes a change, which has a reason already, from a decision about an object that should be gone.
func describeEnd(c *inventory.Change, item *inventory.Item, d decisions.Deletion, ending decisions.Ending, message string) {
	switch ending {
	case decisions.Gone:
		if message != "" {
			c.Reason += "; it " + message
			return
		}
		if item.Phase == inventory.PhaseDeleting || item.Phase == inventory.PhaseCompleting {
			c.Verb = d.Verb
		}
		c.Reason += "; it no longer exists as a dependent"
	case decisions.Forget:
		c.Reason += "; it " + message
	case decisions.AwaitEnd:
		c.Verb = d.Verb
		c.Reason += "; " + message
	case decisions.RequestDeletion, decisions.AwaitApproval:
		c.Verb = d.Verb
	case decisions.Stay:
		c.Stays = true
		c.Reason += "; it " + message
	case decisions.Orphan:
		c.Verb = inventory.VerbOrphaned
	case decisions.RefuseEnd:
		c.Reason, c.Refusal = "", message
	}
}

// addBlockers says what blocks the deletion of an object that defines types, or contains other objects.
func (p *planner) addBlockers(ctx context.Context, change *inventory.Change, item *inventory.Item) error {
	if kinds.IsNamespace(item.GroupVersionKind().GroupKind()) {
		message, err := p.call.Losses.HoldNamespace(ctx, item)
		if err != nil || message == "" {
			return err
		}
		change.Reason += "; " + message
		orphaned, err := p.call.Losses.IsMarkedOrphan(ctx, item)
		if orphaned {
			change.Verb, change.After = inventory.VerbOrphaned, p.preview.orphaned(change.Before)
		}
		return err
	}
	if !kinds.DefinesTypes(item.GroupVersionKind().GroupKind()) {
		return nil
	}
	// Instances of the owner are deleted before.
	defined, err := p.call.Losses.DefinedBy(ctx, item)
	if err != nil {
		return err
	}
	blockers, _, err := p.call.Losses.Instances(ctx, defined, p.call.Owner.Label)
	switch {
	case apierrors.IsForbidden(err):
		// Apply meets this error when it comes to the object.
		change.Reason += "; it is not known whether there are instances of its types: " + err.Error()
		return nil
	case err == nil && len(blockers) > 0:
		change.Reason += "; kept while there are instances of its types: " + losses.Texts(blockers)
	}
	return err
}

// showDeleted shows a wanted object that would be deleted.
func (p *planner) showDeleted(ctx context.Context, change *inventory.Change, item *inventory.Item, s decisions.Situation) (err error) {
	if change.Verb != inventory.VerbCompleted && change.Verb != inventory.VerbDeleted || !s.Exists {
		return nil
	}
	if s.Live == nil {
		// It is decided already, for the state that the observer has.
		if s, err = p.fetch(ctx, item); err != nil {
			return fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
		}
	}
	change.Before = calls.Presentable(s.Live, p.call.Server.Keys)
	return nil
}

// checkRecreation refuses to recreate an object whose content would be lost.
func (p *planner) checkRecreation(ctx context.Context, change *inventory.Change, item *inventory.Item, live *unstructured.Unstructured) error {
	if !change.Recreate || live == nil {
		return nil
	}
	reason, err := p.call.Losses.KeepsFromRecreation(ctx, item, live.GetUID(), live)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
	}
	if reason != "" {
		change.Refusal = reason
	}
	return nil
}
