// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// RecordCompleted records that the object has served its purpose and is gone.
func RecordCompleted(i *inventory.Item) {
	i.Phase, i.Status = inventory.PhaseCompleted, ""
	i.Fingerprint, i.Baseline = "", ""
}

// Vanish records that the object is gone because it is suspended. It has to be applied when it is wanted again.
func Vanish(i *inventory.Item) {
	i.Phase, i.Status = inventory.PhaseScheduledForApplication, ""
	i.UID, i.Digest, i.Fingerprint, i.Baseline, i.LastAppliedAt = "", "", "", "", nil
}

// RecordKept records that the object is redundant, and stays. What happens to it with its owner does not change, and
// whether it is in its suspended form stays known.
func RecordKept(i *inventory.Item) {
	digest := ""
	if IsSuspended(i) {
		digest = prepare.DigestSuspended
	}
	i.Phase, i.Digest, i.DeletionApproved = inventory.PhaseKept, digest, false
}

// EndKeeping plans the end of an object that was kept, and stays no longer.
func EndKeeping(i *inventory.Item) { *i = *Unwanted(i, prepare.IsOrphanedOnApply) }

// IsSuspended reports whether the suspended form of the object was applied last.
func IsSuspended(i *inventory.Item) bool { return strings.HasPrefix(i.Digest, prepare.DigestSuspended) }

// MayExist reports whether the object may exist.
func MayExist(i *inventory.Item) bool {
	return i.Phase != inventory.PhaseScheduledForApplication || i.UID != "" || i.LastAppliedAt != nil
}

// HasOtherFormat reports whether the recorded digest has another format than ours, because an operator with the
// predecessor of this SDK recorded it, or a program that knows no digests.
func HasOtherFormat(i *inventory.Item) bool {
	return i.Digest != "" && i.Digest != prepare.DigestOnce && i.Digest != prepare.DigestLate && !strings.HasPrefix(i.Digest, prepare.DigestRules)
}

// IsWritten reports whether the manifest with the recorded digest was applied.
func IsWritten(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseCreating || i.Phase == inventory.PhaseUpdating || i.Phase == inventory.PhaseReady
}

// RecordFailed records that the object has failed, and is gone.
func RecordFailed(i *inventory.Item) {
	i.Phase = inventory.PhaseFailed
	i.UID, i.Fingerprint, i.Baseline = "", "", ""
}

// IsDismissed reports whether the object has failed and was deleted.
func IsDismissed(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseFailed && i.UID == ""
}

// IsCompleting reports whether the object is being purged, or was.
func IsCompleting(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseScheduledForCompletion || i.Phase == inventory.PhaseCompleting || i.Phase == inventory.PhaseCompleted
}

// IsRedundant reports whether the manifest of the object is gone, and the object is being deleted, is about to be, or
// is kept.
func IsRedundant(i *inventory.Item) bool { return IsUnwanted(i) || i.Phase == inventory.PhaseKept }

// IsUnwanted reports whether the object is being deleted, or is about to be, because its manifest is gone.
func IsUnwanted(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseScheduledForDeletion || i.Phase == inventory.PhaseDeleting
}
