// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

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
)

// isLeftAlone tells whether a dependent may differ from its manifest, is left alone because its drift policy says so, and is to be
// compared nevertheless.
func (p *planner) isLeftAlone(t *target, d decision, v view) bool {
	if !p.leftAlone || !v.exists || v.seen.Owner != p.label || t.reconcile == ReconcilePolicyOnce || t.drift == DriftPolicyCorrect {
		return false
	}
	item := p.item(t)
	switch d.action {
	case actionReport:
		return true
	case actionKeep:
		return item.UID != v.seen.UID || item.Fingerprint != v.seen.Fingerprint || item.Baseline == "" || item.Baseline != v.seen.Baseline()
	case actionCreate, actionApply, actionVerify, actionCompare, actionRecreate, actionMark, actionAsk, actionAwait, actionComplete, actionRefuse:
		return false
	default:
		return false
	}
}

// rehearseLeft has the server say how a dependent differs that is left alone. It asks to be called again if that is not the one that was
// seen.
func (p *planner) rehearseLeft(ctx context.Context, change *Change, t *target, v view) (again bool, err error) {
	c, err := p.dryRun(ctx, t, decision{action: actionVerify, verb: VerbCorrected}, v)
	switch {
	case err == nil:
	case isOutdated(err):
		return true, nil
	case isRefusal(err), conflicts.IsDenied(err), apierrors.IsForbidden(err), isNoDryRun(err):
		return false, nil
	default:
		return false, fmt.Errorf("comparing %s: %w", t.key, err)
	}
	if !sameContent(c.before, c.after) {
		change.Reason = p.blame(c)
		p.showLeft(change, t, c)
	}
	return false, nil
}

// showLeft shows how a dependent differs that is left alone.
func (p *planner) showLeft(change *Change, t *target, c comparison) {
	change.Reason += ", and is left alone: its drift policy is " + annotations.Kebab(string(t.drift))
	change.Before, change.After, change.Changed = p.presentable(c.before), p.presentable(c.after), p.changedFields(c)
}

// contested are the fields that others have changed, removed or added; none if that cannot be told.
func (p *planner) contested(c comparison) []fieldpath.Path {
	fields, err := fieldset.Gained(c.before.GetManagedFields(), c.applied.GetManagedFields(), p.options.FieldOwner)
	if err != nil {
		return nil
	}
	return append(fields, c.surplus...)
}

// changedFields says by whom and when each field was changed.
func (p *planner) changedFields(c comparison) []FieldChange {
	fields := p.contested(c)
	writers, err := fieldset.Writers(c.before.GetManagedFields(), fields, p.options.FieldOwner)
	if err != nil {
		return nil
	}
	var changed []FieldChange
	for i, path := range fields {
		field := FieldChange{Path: path.String(), Manager: writers[i].Manager}
		if !writers[i].Time.IsZero() {
			field.Time = &metav1.Time{Time: writers[i].Time}
		}
		changed = append(changed, field)
	}
	slices.SortFunc(changed, func(a, b FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return changed
}
