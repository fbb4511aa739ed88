// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"strings"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
)

// Complete records that the object has served its purpose and is gone.
func Complete(i *inventory.Item) {
	i.Phase, i.Status = inventory.PhaseCompleted, ""
	i.Fingerprint, i.Baseline = "", ""
}

// IsTouched reports whether there may be an object.
func IsTouched(i *inventory.Item) bool {
	return i.Phase != inventory.PhaseScheduledForApplication || i.UID != "" || i.LastAppliedAt != nil
}

// IsByAncestor reports whether the recorded digest was computed by other rules than ours.
func IsByAncestor(i *inventory.Item) bool {
	return i.Digest != "" && i.Digest != targets.DigestOnce && !strings.HasPrefix(i.Digest, targets.DigestRules)
}

// IsWritten reports whether the recorded digest was written to the cluster.
func IsWritten(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseCreating || i.Phase == inventory.PhaseUpdating || i.Phase == inventory.PhaseReady
}

// IsDismissed reports whether the object has failed, and nothing of it is left.
func IsDismissed(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseFailed && i.UID == ""
}

// IsCompleting reports whether the object is being, or was, purged.
func IsCompleting(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseScheduledForCompletion || i.Phase == inventory.PhaseCompleting || i.Phase == inventory.PhaseCompleted
}

// IsUnwanted reports whether the object is no longer among the manifests.
func IsUnwanted(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseScheduledForDeletion || i.Phase == inventory.PhaseDeleting
}
