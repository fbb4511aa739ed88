// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"slices"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// parsePolicy reads a policy, given by the suffix of its annotation. It yields "" for the deprecated value "default".
func parsePolicy[P ~string](suffix string, text string) (P, error) {
	value, err := annotations.Policy(suffix, text)
	return P(annotations.Camel(value)), err
}

func parseAdoptionPolicy(text string) (inventory.AdoptionPolicy, error) {
	return parsePolicy[inventory.AdoptionPolicy](types.AnnotationKeySuffixAdoptionPolicy, text)
}

func parseReconcilePolicy(text string) (inventory.ReconcilePolicy, error) {
	return parsePolicy[inventory.ReconcilePolicy](types.AnnotationKeySuffixReconcilePolicy, text)
}

func parseUpdatePolicy(text string) (inventory.UpdatePolicy, error) {
	return parsePolicy[inventory.UpdatePolicy](types.AnnotationKeySuffixUpdatePolicy, text)
}

// ParseDelete reads a delete policy, as annotations spell it.
func ParseDelete(text string) (inventory.DeletePolicy, error) {
	return parsePolicy[inventory.DeletePolicy](types.AnnotationKeySuffixDeletePolicy, text)
}

func parseDriftPolicy(text string) (inventory.DriftPolicy, error) {
	return parsePolicy[inventory.DriftPolicy](types.AnnotationKeySuffixDriftPolicy, text)
}

// parseMissingNamespacesPolicy reads what only owners can say: there is no annotation for it.
func parseMissingNamespacesPolicy(text string) (inventory.MissingNamespacesPolicy, error) {
	value, err := annotations.OneOf(text,
		annotations.Kebab(string(inventory.MissingNamespacesPolicyDoNotCreate)), annotations.Kebab(string(inventory.MissingNamespacesPolicyCreate)))
	return inventory.MissingNamespacesPolicy(annotations.Camel(value)), err
}

// Final returns what a policy comes to when an object is no longer wanted: DeletePolicyOrphan or DeletePolicyDelete. It is recorded, because the
// owner may be deleted, or not any more, before the object is gone.
func Final(p inventory.DeletePolicy, orphaned func(inventory.DeletePolicy) bool) inventory.DeletePolicy {
	if orphaned(p) {
		return inventory.DeletePolicyOrphan
	}
	return inventory.DeletePolicyDelete
}

// Join returns the policy that releases an object where one of the two does.
func Join(p, other inventory.DeletePolicy) inventory.DeletePolicy {
	onApply, onDelete := IsOrphanedOnApply(p) || IsOrphanedOnApply(other), IsOrphanedOnDelete(p) || IsOrphanedOnDelete(other)
	switch {
	case onApply && onDelete:
		return inventory.DeletePolicyOrphan
	case onApply:
		return inventory.DeletePolicyOrphanOnApply
	case onDelete:
		return inventory.DeletePolicyOrphanOnDelete
	default:
		return inventory.DeletePolicyDelete
	}
}

// IsOrphanedOnApply reports whether an object that vanished from the manifests is released instead of deleted.
func IsOrphanedOnApply(p inventory.DeletePolicy) bool {
	return slices.Contains([]inventory.DeletePolicy{inventory.DeletePolicyOrphan, inventory.DeletePolicyOrphanOnApply}, p)
}

// IsOrphanedOnDelete reports whether an object is released instead of deleted when its owner goes.
func IsOrphanedOnDelete(p inventory.DeletePolicy) bool {
	return slices.Contains([]inventory.DeletePolicy{inventory.DeletePolicyOrphan, inventory.DeletePolicyOrphanOnDelete}, p)
}
