// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"slices"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// parsePolicy parses the value of a policy; suffix is that of its annotation. It returns "" for the deprecated value "default".
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

// ParseDelete parses a delete policy, as annotations spell it.
func ParseDelete(text string) (inventory.DeletePolicy, error) {
	return parsePolicy[inventory.DeletePolicy](types.AnnotationKeySuffixDeletePolicy, text)
}

func parsePrunePolicy(text string) (inventory.PrunePolicy, error) {
	return parsePolicy[inventory.PrunePolicy](types.AnnotationKeySuffixPrunePolicy, text)
}

// PruneOf returns the prune policy that an annotation spells; empty if it spells none.
func PruneOf(text string) inventory.PrunePolicy {
	policy, err := parsePrunePolicy(text)
	if err != nil {
		return ""
	}
	return policy
}

func parseDriftPolicy(text string) (inventory.DriftPolicy, error) {
	return parsePolicy[inventory.DriftPolicy](types.AnnotationKeySuffixDriftPolicy, text)
}

func parseReadyTimeoutPolicy(text string) (string, error) {
	return annotations.Policy(types.AnnotationKeySuffixReadyTimeoutPolicy, text)
}

func parseMissingTypePolicy(text string) (string, error) {
	return annotations.Policy(types.AnnotationKeySuffixMissingTypePolicy, text)
}

func parseAwait(text string) (string, error) {
	return annotations.Policy(types.AnnotationKeySuffixAwait, text)
}

// parseMissingNamespacesPolicy parses a policy that has no annotation: only owners can set it.
func parseMissingNamespacesPolicy(text string) (inventory.MissingNamespacesPolicy, error) {
	value, err := annotations.OneOf(text,
		annotations.Kebab(string(inventory.MissingNamespacesPolicyDoNotCreate)), annotations.Kebab(string(inventory.MissingNamespacesPolicyCreate)))
	return inventory.MissingNamespacesPolicy(annotations.Camel(value)), err
}

// parsePruneAt parses a policy that has no annotation.
func parsePruneAt(text string) (inventory.PruneAt, error) {
	value, err := annotations.OneOf(text, annotations.Kebab(string(inventory.PruneAtEnd)), annotations.Kebab(string(inventory.PruneAtWaves)))
	return inventory.PruneAt(annotations.Camel(value)), err
}

// parseDeleteOrder parses the derivation of delete orders, which has no annotation.
func parseDeleteOrder(text string) (inventory.DeleteOrder, error) {
	value, err := annotations.OneOf(text, annotations.Kebab(string(inventory.DeleteOrderExplicit)), annotations.Kebab(string(inventory.DeleteOrderReversed)))
	return inventory.DeleteOrder(annotations.Camel(value)), err
}

// Final returns the outcome of a policy when its object becomes redundant: DeletePolicyOrphan, or one that deletes the object. The outcome
// is recorded, because the reason for it may change before the object is gone. That a deletion with the owner has to be approved holds until then.
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

// Join returns the policy that orphans an object in each case in which one of the two does, and demands approval where one of them does. No policy both orphans
// objects whose manifests are removed and demands approval: then the object is orphaned in all cases.
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
