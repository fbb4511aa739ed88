// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/pkg/status"
)

// redundant returns what would become of an object that is no longer wanted.
func (p *planner) redundant(ctx context.Context, item *InventoryItem) (Change, error) {
	change := Change{Object: ObjectInfo{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}, Wave: item.DeleteOrder}
	return change, p.foreseeEnd(ctx, &change, item, deletion{orphan: item.DeletePolicy == DeletePolicyOrphan, verb: VerbDeleted}, "is no longer wanted")
}

// foretellEnd is about an object that stays as it is, unless it has served its purpose or failed.
func (p *planner) foretellEnd(change *Change, t *target, v view) {
	switch {
	case !v.exists:
	case t.purgeOnFailure && v.seen.Status == status.FailedStatus && p.item(t).written():
		change.Verb, change.Reason = VerbDeleted, "has failed"
	case t.purgeOrder != nil:
		change.Verb, change.Reason = VerbCompleted, "has served its purpose"
	}
}

// regardEnd is regard for an object that is to go.
func (p *planner) regardEnd(ctx context.Context, item *InventoryItem) (view, error) {
	v, err := p.regard(ctx, item)
	if err == nil && v.live == nil && !v.proven && (p.depth == depthCompared || p.depth == depthAsked && !v.exists) {
		return p.demand(ctx, item)
	}
	return v, err
}

// foreseeEnd decides as deleteOne does.
func (p *planner) foreseeEnd(ctx context.Context, change *Change, item *InventoryItem, d deletion, why string) error {
	v, err := p.regardEnd(ctx, item)
	if apierrors.IsForbidden(err) {
		// Apply finds that out after everything else.
		change.Verb, change.Reason = d.verb, fmt.Sprintf("%s; it may not be looked at: %s", why, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", keyOf(item), err)
	}
	p.saw(change, v)
	change.Reason = why
	if item.unwanted() {
		v.wantedAs = p.aliases.of(v.seen.UID)
	}
	ending, message := p.ending(item, v.situation, d)
	change.ends(item, d, ending, message)
	if reason := p.owner.staying(item); reason != "" && ending == endingOrphan {
		change.Reason += "; it " + reason
	}
	if p.depth != depthCompared || change.Verb == "" || v.live == nil {
		return nil
	}
	change.Before = p.presentable(v.live)
	if ending == endingOrphan {
		change.After = p.released(v.live)
		return nil
	}
	return p.mindContent(ctx, change, item)
}

// ends turns what is to be done about an unwanted object into a change that has a reason already.
func (c *Change) ends(item *InventoryItem, d deletion, ending ending, message string) {
	switch ending {
	case endingGone:
		if message != "" {
			c.Reason += "; it " + message
			return
		}
		if item.Phase == PhaseDeleting || item.Phase == PhaseCompleting {
			c.Verb = d.verb
		}
		c.Reason += "; there is no such object of ours any more"
	case endingForget:
		c.Reason += "; it " + message
	case endingAwait:
		c.Verb = d.verb
		c.Reason += "; " + message
	case endingDelete:
		c.Verb = d.verb
	case endingOrphan:
		c.Verb = VerbOrphaned
	case endingRefuse:
		c.Reason, c.Refusal = "", message
	}
}

// mindContent says what keeps an object from being deleted that defines types, or holds other objects.
func (p *planner) mindContent(ctx context.Context, change *Change, item *InventoryItem) error {
	if isNamespace(item.GroupVersionKind().GroupKind()) {
		message, err := p.holdNamespace(ctx, item)
		if err != nil || message == "" {
			return err
		}
		change.Reason += "; " + message
		released, err := p.isReleased(ctx, item)
		if released {
			change.Verb, change.After = VerbOrphaned, p.released(change.Before)
		}
		return err
	}
	if !definesTypes(item.GroupVersionKind().GroupKind()) {
		return nil
	}
	// Those of the owner go before.
	brought, err := p.broughtBy(ctx, item)
	if err != nil {
		return err
	}
	blockers, _, err := p.instances(ctx, brought, p.label)
	switch {
	case apierrors.IsForbidden(err):
		// Apply finds that out when it comes to the object.
		change.Reason += "; it is not known whether there are instances of its types: " + err.Error()
		return nil
	case err == nil && len(blockers) > 0:
		change.Reason += "; kept as long as there are instances of its types: " + blockerTexts(blockers)
	}
	return err
}

// showEnd shows what goes although it is wanted.
func (p *planner) showEnd(ctx context.Context, change *Change, item *InventoryItem, v view) (err error) {
	if change.Verb != VerbCompleted && change.Verb != VerbDeleted || !v.exists {
		return nil
	}
	if v.live == nil {
		if v, err = p.demand(ctx, item); err != nil {
			return fmt.Errorf("looking at %s: %w", keyOf(item), err)
		}
	}
	change.Before = p.presentable(v.live)
	return nil
}
