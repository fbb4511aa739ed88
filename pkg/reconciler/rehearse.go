// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/fieldset"
)

// rehearse has the server say what would become of an object about which something is to be done. It asks to be called again
// if the object is not the one on which it was decided.
func (p *planner) rehearse(ctx context.Context, change *Change, t *target, d decision, v view) (again bool, err error) {
	if p.isLeftAlone(t, d, v) {
		return p.rehearseLeft(ctx, change, t, v)
	}
	switch d.action {
	case actionKeep, actionAsk, actionReport, actionRefuse, actionComplete:
		return false, nil
	case actionAwait:
		if change.Verb == "" {
			return false, nil
		}
		return false, p.compute(change, t, view{})
	case actionMark:
		p.rehearseMark(change, t, v)
		return false, nil
	case actionCreate, actionApply, actionVerify, actionCompare, actionRecreate:
	}
	if p.isLocal(t) {
		return false, p.computed(change, t, d, v)
	}
	c, err := p.dryRun(ctx, t, d, v)
	switch {
	case err == nil && d.action == actionRecreate:
		return false, p.recreated(change, t, v, c.after)
	case err == nil:
		p.compared(change, t, d, c)
		return false, nil
	case isOutdated(err):
		return true, nil
	default:
		return false, p.excused(change, t, v, err)
	}
}

// comparison is an object before and after a write.
type comparison struct {
	before, after *unstructured.Unstructured
	applied       *unstructured.Unstructured // by the first of two requests, if there were two
	surplus       []fieldpath.Path           // that the second one removed
}

// dryRun makes the requests of a write without effect.
func (p *planner) dryRun(ctx context.Context, t *target, d decision, v view) (comparison, error) {
	action := d.action
	if action != actionCreate {
		action = actionApply
	}
	collector := &clients.Collector{}
	ctx = clients.WithWarnings(ctx, collector)
	object, err := p.send(ctx, t, v.situation, action)
	c := comparison{before: v.live, applied: object, after: object}
	if err == nil {
		err = p.noteAnswer(t, object, collector)
	}
	if err != nil || d.action == actionCompare || d.action == actionRecreate {
		return c, err
	}
	changed := d.action != actionVerify || !sameContent(v.live, object)
	cleaned, surplus, err := p.withoutSurplus(t, object, changed && d.verb != VerbCorrected)
	if err != nil || cleaned == nil {
		return c, err
	}
	err = p.mutate("update", func() error { return p.client.Update(ctx, cleaned, client.FieldOwner(p.options.FieldOwner)) })
	if apierrors.IsInvalid(err) && !isOutdated(err) {
		// Apply would leave the fields alone as well.
		return c, nil
	}
	c.after, c.surplus = cleaned, surplus
	return c, err
}

// compared completes a change by what the comparison shows.
func (p *planner) compared(change *Change, t *target, d decision, c comparison) {
	same := c.before != nil && sameContent(c.before, c.after)
	switch {
	case d.action == actionVerify && same, d.action == actionCompare && same:
		if change.Reason == suspected {
			change.Reason = ""
		}
		return
	case d.action == actionCompare:
		change.Reason = p.blame(c)
		if p.leftAlone {
			p.showLeft(change, t, c)
		}
		return
	case d.action == actionVerify:
		change.Verb, change.Reason = VerbCorrected, p.blame(c)
	case d.message == changedByOthers:
		change.Reason = p.blame(c)
	}
	change.Before, change.After = p.presentable(c.before), p.presentable(c.after)
	if change.Verb == VerbCorrected && c.before != nil {
		change.Changed = p.changedFields(c)
	}
	if c.before == nil {
		p.forgetAllocated(t, change.After, c.after.GetUID())
	}
}

// recreated completes the change of an object that is created anew: nothing stays that others own. The server, which refuses to
// create what exists, has been asked to apply it.
func (p *planner) recreated(change *Change, t *target, v view, object *unstructured.Unstructured) error {
	manifest, err := p.object(t)
	if err != nil {
		return err
	}
	if err := p.removeLocally(object, t, true, manifest); err != nil {
		return err
	}
	change.Before, change.After = p.presentable(v.live), p.presentable(object)
	p.forgetAllocated(t, change.Before, v.live.GetUID())
	p.forgetAllocated(t, change.After, v.live.GetUID())
	return nil
}

// blame says who changed which fields. Nobody is named if fields were removed, which leaves no trace.
func (p *planner) blame(c comparison) string {
	fields := p.contested(c)
	if len(fields) == 0 {
		return changedByOthers
	}
	holders, err := fieldset.Holders(c.before.GetManagedFields(), fields, p.options.FieldOwner)
	if err != nil || len(holders) == 0 {
		return changedByOthers + ": " + fieldTexts(fields)
	}
	return fmt.Sprintf("was changed by %s: %s", strings.Join(holders, ", "), fieldTexts(fields))
}

// excused completes a change whose dry run failed.
func (p *planner) excused(change *Change, t *target, v view, err error) error {
	switch {
	case isImmutable(err) && v.exists && t.update == UpdatePolicyRecreate && !v.seizes():
		change.Recreate = true
		return p.compute(change, t, v)
	case p.createsNamespaces && isNotFound(err) && kindOf(err) == "namespaces":
		return p.compute(change, t, v)
	case isNoDryRun(err):
		return p.compute(change, t, v)
	case isRefusal(err), conflicts.IsDenied(err), apierrors.IsForbidden(err) && !isDoomed(err) && !deniedBy(err, barrierPrefix):
		change.Refusal = fmt.Sprintf("rejected by the API server: %s", err)
		return nil
	}
	if reason, ok := awaitable(err); ok {
		if !p.provided(t) {
			change.Reason += "; " + reason
		}
		return p.compute(change, t, v)
	}
	return fmt.Errorf("comparing %s: %w", t.key, err)
}

// isNoDryRun tells whether a dry run failed merely because a webhook does not know such.
func isNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}
