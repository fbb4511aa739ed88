// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"slices"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// policyOf returns what parses the values of a policy; suffix is that of its annotation. It returns "" for the
// deprecated value "default".
func policyOf[P ~string](suffix string) func(text string) (P, error) {
	return func(text string) (P, error) {
		value, err := annotations.Policy(suffix, text)
		return P(annotations.Camel(value)), err
	}
}

// textOf is policyOf for a policy outside the inventory.
func textOf(suffix string) func(text string) (string, error) {
	return func(text string) (string, error) { return annotations.Policy(suffix, text) }
}

// oneOf returns what parses the values of a policy that has no annotation: only owners can set it.
func oneOf[P ~string](values ...P) func(text string) (P, error) {
	spelled := make([]string, len(values))
	for i, value := range values {
		spelled[i] = annotations.Kebab(string(value))
	}
	return func(text string) (P, error) {
		value, err := annotations.OneOf(text, spelled...)
		return P(annotations.Camel(value)), err
	}
}

// ParseDelete parses a delete policy, as annotations spell it.
func ParseDelete(text string) (inventory.DeletePolicy, error) {
	return policyOf[inventory.DeletePolicy](types.AnnotationKeySuffixDeletePolicy)(text)
}

// PruneOf returns the prune policy that an annotation spells; empty if it spells none.
func PruneOf(text string) inventory.PrunePolicy {
	policy, err := policyOf[inventory.PrunePolicy](types.AnnotationKeySuffixPrunePolicy)(text)
	if err != nil {
		return ""
	}
	return policy
}

// Final returns the outcome of a policy when its object becomes redundant: DeletePolicyOrphan, or one that deletes the
// object. The outcome is recorded, because the reason for it may change before the object is gone. That a deletion with
// the owner has to be approved holds until then.
func Final(p inventory.DeletePolicy, orphaned func(inventory.DeletePolicy) bool) inventory.DeletePolicy {
	switch {
	case orphaned(p):
		return inventory.DeletePolicyOrphan
	case p == inventory.DeletePolicyConfirmOnDelete:
		return p
	default:
		return inventory.DeletePolicyDelete
	}
}

// Join returns the policy that orphans an object in each case in which one of the two does, and demands approval where
// one of them does. No policy both orphans objects whose manifests are removed and demands approval: then the object is
// orphaned in all cases.
func Join(p, other inventory.DeletePolicy) inventory.DeletePolicy {
	onApply, onDelete := IsOrphanedOnApply(p) || IsOrphanedOnApply(other), IsOrphanedOnDelete(p) || IsOrphanedOnDelete(other)
	confirmed := p == inventory.DeletePolicyConfirmOnDelete || other == inventory.DeletePolicyConfirmOnDelete
	switch {
	case onApply && (onDelete || confirmed):
		return inventory.DeletePolicyOrphan
	case onApply:
		return inventory.DeletePolicyOrphanOnApply
	case onDelete:
		return inventory.DeletePolicyOrphanOnDelete
	case confirmed:
		return inventory.DeletePolicyConfirmOnDelete
	default:
		return inventory.DeletePolicyDelete
	}
}

// JoinPrune returns the policy that protects an object in each case in which one of the two does.
func JoinPrune(p, other inventory.PrunePolicy) inventory.PrunePolicy {
	for _, policy := range []inventory.PrunePolicy{inventory.PrunePolicyKeep, inventory.PrunePolicyConfirm} {
		if p == policy || other == policy {
			return policy
		}
	}
	return p
}

// IsOrphanedOnApply reports whether the policy orphans an object that is removed from the manifests.
func IsOrphanedOnApply(p inventory.DeletePolicy) bool {
	return slices.Contains([]inventory.DeletePolicy{inventory.DeletePolicyOrphan, inventory.DeletePolicyOrphanOnApply}, p)
}

// IsOrphanedOnDelete reports whether the policy orphans an object whose owner is deleted.
func IsOrphanedOnDelete(p inventory.DeletePolicy) bool {
	return slices.Contains([]inventory.DeletePolicy{inventory.DeletePolicyOrphan, inventory.DeletePolicyOrphanOnDelete}, p)
}
