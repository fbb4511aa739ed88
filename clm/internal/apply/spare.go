// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// SpareAdopted has those dependents stay that were there before the release has adopted them, although what comes next does not want them: an earlier
// revision, or what was before the release. It returns them as texts.
func SpareAdopted(release *releases.Release, wanted map[dependents.Key]bool) []string {
	var spared []string
	for _, item := range release.Inventory {
		if item.Adopted && !wanted[dependents.KeyOf(item)] {
			spared = append(spared, Spare(item))
		}
	}
	slices.Sort(spared)
	return spared
}

// Spare has a dependent stay, and returns its text.
func Spare(item *reconciler.InventoryItem) string {
	item.DeletePolicy = reconciler.DeletePolicyOrphan
	return dependents.Text(item)
}

// ConfirmLast refuses to undo what a plan has done if somebody else has worked on the release since: what he has done would be undone with it.
func (p *Plan) ConfirmLast(release *releases.Release) error {
	if p == nil || p.Release.SameRecord(release) {
		return nil
	}
	return failures.Refused("somebody else has changed release %s since revision %d has failed; nothing is reverted", release, p.Revision.Number)
}

// SparedText says what stays.
func SparedText(spared []string) string {
	if len(spared) == 0 {
		return ""
	}
	return "These were there before, and stay, with what the release has changed in them: " + strings.Join(spared, ", ")
}
