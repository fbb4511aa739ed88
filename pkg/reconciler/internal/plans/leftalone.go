// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/contents"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
)

// isLeftAlone reports whether a dependent may differ from its manifest, is left alone because its drift policy says so, and is to be
// compared nevertheless.
func (p *preview) isLeftAlone(t *targets.Target, d decisions.Decision, v calls.View) bool {
	if !p.leftAlone || !v.Exists || v.Seen.Owner != p.Owner.Label || t.Reconcile == inventory.ReconcilePolicyOnce || t.Drift == inventory.DriftPolicyCorrect {
		return false
	}
	item := p.Ledger.Of(t)
	switch d.Action {
	case decisions.Report:
		return true
	case decisions.Keep:
		return item.UID != v.Seen.UID || item.Fingerprint != v.Seen.Fingerprint || item.Baseline == "" || item.Baseline != v.Seen.Baseline()
	case decisions.Create, decisions.Write, decisions.Verify, decisions.Compare, decisions.Recreate, decisions.Mark, decisions.Ask,
		decisions.Await, decisions.Complete, decisions.Refuse:
		return false
	default:
		return false
	}
}

// rehearseLeft has the server say how a dependent differs that is left alone. It asks to be called again if that is not the one that was
// seen.
func (p *preview) rehearseLeft(ctx context.Context, change *inventory.Change, t *targets.Target, v calls.View) (again bool, err error) {
	c, err := p.dryRun(ctx, t, decisions.Decision{Action: decisions.Verify, Verb: inventory.VerbCorrected}, v)
	switch {
	case err == nil:
	case answers.IsOutdated(err):
		return true, nil
	case answers.IsRefusal(err), conflicts.IsDenied(err), apierrors.IsForbidden(err), answers.IsNoDryRun(err):
		return false, nil
	default:
		return false, fmt.Errorf("comparing %s: %w", t.Key, err)
	}
	if !contents.Same(c.before, c.after) {
		change.Reason = p.blame(c)
		p.showLeft(change, t, c)
	}
	return false, nil
}

// showLeft shows how a dependent differs that is left alone.
func (p *preview) showLeft(change *inventory.Change, t *targets.Target, c comparison) {
	change.Reason += ", and is left alone: its drift policy is " + annotations.Kebab(string(t.Drift))
	change.Before, change.After, change.Changed = calls.Presentable(c.before, p.Server.Keys), calls.Presentable(c.after, p.Server.Keys), p.changedFields(c)
}

// contested are the fields that others have changed, removed or added; none if that cannot be told.
func (p *preview) contested(c comparison) []fieldpath.Path {
	fields, err := fieldset.Gained(c.before.GetManagedFields(), c.applied.GetManagedFields(), p.Server.FieldOwner)
	if err != nil {
		return nil
	}
	return append(fields, c.surplus...)
}

// changedFields says by whom and when each field was changed.
func (p *preview) changedFields(c comparison) []inventory.FieldChange {
	fields := p.contested(c)
	writers, err := fieldset.Writers(c.before.GetManagedFields(), fields, p.Server.FieldOwner)
	if err != nil {
		return nil
	}
	var changed []inventory.FieldChange
	for i, path := range fields {
		field := inventory.FieldChange{Path: path.String(), Manager: writers[i].Manager}
		if !writers[i].Time.IsZero() {
			field.Time = &metav1.Time{Time: writers[i].Time}
		}
		changed = append(changed, field)
	}
	slices.SortFunc(changed, func(a, b inventory.FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return changed
}
