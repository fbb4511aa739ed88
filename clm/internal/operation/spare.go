// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"
	"strings"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// SpareAdopted orphans, instead of deleting, the dependents that are not wanted and that existed before the release has
// adopted them. It returns them as texts, sorted.
func SpareAdopted(release *releases.Release, wanted map[display.Key]bool) []string {
	var spared []string
	for _, item := range release.Inventory {
		if item.Adopted && !wanted[display.KeyOf(item)] {
			spared = append(spared, Spare(item))
		}
	}
	slices.Sort(spared)
	return spared
}

// Spare sets the delete policy of a dependent to orphan, and returns its text.
func Spare(item *reconciler.InventoryItem) string {
	item.DeletePolicy = reconciler.DeletePolicyOrphan
	return display.Text(item)
}

// ConfirmLast refuses to revert a plan if another process has changed the release since: its changes would be reverted
// as well.
func (p *Plan) ConfirmLast(release *releases.Release) error {
	if p == nil || p.Release.SameRecord(release) {
		return nil
	}
	return releases.Refused("another client has changed release %s since revision %d failed; nothing was reverted", release, p.Revision.Number)
}

// SparedText names the objects that stay; empty if there are none.
func SparedText(spared []string) string {
	if len(spared) == 0 {
		return ""
	}
	return "These objects existed before the release, and were kept, with its changes: " + strings.Join(spared, ", ")
}
