// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// IsLeftAlone reports whether a dependent may differ from its manifest, is not corrected because of its drift policy,
// and has to be compared all the same.
func (p *Preview) IsLeftAlone(t *prepare.Object, d decide.Decision, s decide.Situation) bool {
	if !p.LeftAlone || !s.Exists || s.Seen.Owner != p.x.Owner.Label || t.Reconcile == inventory.ReconcilePolicyOnce || t.Drift == inventory.DriftPolicyCorrect {
		return false
	}
	item := p.itemOf(t)
	differs := item.UID != s.Seen.UID || item.Fingerprint != s.Seen.Fingerprint || item.Baseline == "" || item.Baseline != s.Seen.Baseline()
	return d.Action == decide.Report || d.Action == decide.Keep && differs
}

// showLeftAlone shows the drift of a dependent that is not corrected. The decision must be repeated (again) if the
// object has changed since it was observed.
func (p *Preview) showLeftAlone(ctx context.Context, change *inventory.Change, t *prepare.Object, s decide.Situation) (again bool, err error) {
	c, err := p.dryRun(ctx, t, decide.Decision{Action: decide.Verify, Verb: inventory.VerbCorrected}, s)
	switch {
	case err == nil:
	case IsOutdated(err):
		return true, nil
	case IsRefusal(err), apiserver.IsDenied(err), apierrors.IsForbidden(err), IsNoDryRun(err):
		return false, nil
	default:
		return false, fmt.Errorf("comparing %s: %w", t.Key, err)
	}
	if !Same(c.before, c.after) {
		change.Reason = p.changedBy(c)
		p.addLeftAlone(change, t, c)
	}
	return false, nil
}

// addLeftAlone adds the drift of a dependent that is not corrected.
func (p *Preview) addLeftAlone(change *inventory.Change, t *prepare.Object, c comparison) {
	change.Reason += "; left alone because its drift policy is " + annotations.Kebab(string(t.Drift))
	change.Before, change.After, change.Changed = Presentable(c.before, p.x.Server.Keys), Presentable(c.after, p.x.Server.Keys), p.changedFields(c)
}

// contested returns the fields that others have changed, removed or added; none if field ownership cannot be read.
func (p *Preview) contested(c comparison) []fieldpath.Path {
	fields, err := fieldset.Gained(c.before.GetManagedFields(), c.applied.GetManagedFields(), p.x.Server.FieldOwner)
	if err != nil {
		return nil
	}
	return append(fields, c.surplus...)
}

// changedFields says who changed each field, and when.
func (p *Preview) changedFields(c comparison) []inventory.FieldChange {
	fields := p.contested(c)
	writers, err := fieldset.Writers(c.before.GetManagedFields(), fields, p.x.Server.FieldOwner)
	if err != nil {
		return nil
	}
	var changed []inventory.FieldChange
	for i, path := range fields {
		changed = append(changed, fieldChange(path, writers[i]))
	}
	slices.SortFunc(changed, func(a, b inventory.FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return changed
}

// fieldChange describes a field and who wrote it.
func fieldChange(path fieldpath.Path, writer fieldset.Writer) inventory.FieldChange {
	change := inventory.FieldChange{Path: texts.Text(path.String()), Manager: writer.Manager}
	if !writer.Time.IsZero() {
		change.Time = &metav1.Time{Time: writer.Time}
	}
	return change
}
