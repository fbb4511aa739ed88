// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/losses"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// redundant returns what Apply would do with a redundant object.
func (p *planner) redundant(ctx context.Context, item *inventory.Item) (inventory.Change, error) {
	change := inventory.Change{Object: inventory.ObjectInfo{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}, Wave: item.DeleteOrder}
	return change, p.foreseeEnd(ctx, &change, item, decisions.Deletion{Orphan: item.DeletePolicy == inventory.DeletePolicyOrphan, Verb: inventory.VerbDeleted}, "is no longer wanted")
}

// foretellEnd is about an object that stays as it is, unless it has served its purpose or failed.
func (p *planner) foretellEnd(change *inventory.Change, t *targets.Target, v calls.View) {
	switch {
	case !v.Exists:
	case t.PurgeOnFailure && v.Seen.Status == status.FailedStatus && records.IsWritten(p.Ledger.Of(t)):
		change.Verb, change.Reason = inventory.VerbDeleted, "has failed"
	case t.PurgeOrder != nil:
		change.Verb, change.Reason = inventory.VerbCompleted, "has served its purpose"
	}
}

// regardEnd is regard for an object that is to go.
func (p *planner) regardEnd(ctx context.Context, item *inventory.Item) (calls.View, error) {
	v, err := p.regard(ctx, item)
	if err == nil && v.Live == nil && !v.Proven && (p.depth == depthCompared || p.depth == depthAsked && !v.Exists) {
		return p.demand(ctx, item)
	}
	return v, err
}

// foreseeEnd decides as deleteOne does.
func (p *planner) foreseeEnd(ctx context.Context, change *inventory.Change, item *inventory.Item, d decisions.Deletion, why string) error {
	v, err := p.regardEnd(ctx, item)
	if apierrors.IsForbidden(err) {
		// Apply finds that out after everything else.
		change.Verb, change.Reason = d.Verb, fmt.Sprintf("%s; it may not be looked at: %s", why, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
	}
	calls.Saw(change, v, p.Server.Keys)
	change.Reason = why
	if records.IsUnwanted(item) {
		v.WantedAs = p.Aliases.Of(v.Seen.UID)
	}
	ending, message := p.Owner.Ending(item, v.Situation, d)
	describeEnd(change, item, d, ending, message)
	if reason := p.Owner.Staying(item); reason != "" && ending == decisions.Release {
		change.Reason += "; it " + reason
	}
	if p.depth != depthCompared || change.Verb == "" || v.Live == nil {
		return nil
	}
	change.Before = calls.Presentable(v.Live, p.Server.Keys)
	if ending == decisions.Release {
		change.After = p.preview.released(v.Live)
		return nil
	}
	return p.mindContent(ctx, change, item)
}

// describeEnd turns what is to be done about an unwanted object into a change that has a reason already.
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
		c.Reason += "; there is no such object of ours any more"
	case decisions.Forget:
		c.Reason += "; it " + message
	case decisions.AwaitEnd:
		c.Verb = d.Verb
		c.Reason += "; " + message
	case decisions.RequestDeletion:
		c.Verb = d.Verb
	case decisions.Release:
		c.Verb = inventory.VerbOrphaned
	case decisions.RefuseEnd:
		c.Reason, c.Refusal = "", message
	}
}

// mindContent says what keeps an object from being deleted that defines types, or holds other objects.
func (p *planner) mindContent(ctx context.Context, change *inventory.Change, item *inventory.Item) error {
	if kinds.IsNamespace(item.GroupVersionKind().GroupKind()) {
		message, err := p.Losses.HoldNamespace(ctx, item)
		if err != nil || message == "" {
			return err
		}
		change.Reason += "; " + message
		released, err := p.Losses.IsReleased(ctx, item)
		if released {
			change.Verb, change.After = inventory.VerbOrphaned, p.preview.released(change.Before)
		}
		return err
	}
	if !kinds.DefinesTypes(item.GroupVersionKind().GroupKind()) {
		return nil
	}
	// Those of the owner go before.
	brought, err := p.Losses.BroughtBy(ctx, item)
	if err != nil {
		return err
	}
	blockers, _, err := p.Losses.Instances(ctx, brought, p.Owner.Label)
	switch {
	case apierrors.IsForbidden(err):
		// Apply finds that out when it comes to the object.
		change.Reason += "; it is not known whether there are instances of its types: " + err.Error()
		return nil
	case err == nil && len(blockers) > 0:
		change.Reason += "; kept as long as there are instances of its types: " + losses.Texts(blockers)
	}
	return err
}

// showEnd shows what goes although it is wanted.
func (p *planner) showEnd(ctx context.Context, change *inventory.Change, item *inventory.Item, v calls.View) (err error) {
	if change.Verb != inventory.VerbCompleted && change.Verb != inventory.VerbDeleted || !v.Exists {
		return nil
	}
	if v.Live == nil {
		if v, err = p.demand(ctx, item); err != nil {
			return fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
		}
	}
	change.Before = calls.Presentable(v.Live, p.Server.Keys)
	return nil
}

// mindHeld says whether an object must not be deleted in order to be created anew.
func (p *planner) mindHeld(ctx context.Context, change *inventory.Change, item *inventory.Item, live *unstructured.Unstructured) error {
	if !change.Recreate || live == nil {
		return nil
	}
	reason, err := p.Losses.KeepsFromRecreation(ctx, item, live.GetUID(), live)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
	}
	if reason != "" {
		change.Refusal = reason
	}
	return nil
}
