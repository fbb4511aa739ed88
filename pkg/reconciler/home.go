// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import "slices"

const (
	// stays says why a namespace is released although it ought to be deleted.
	stays = "is released instead of being deleted, because what its owner needs is in it"
	// staysDefined says why a definition is released although it ought to be deleted.
	staysDefined = "is released instead of being deleted, because its owner is an instance of a type that it defines"
)

// isHome reports whether the owner would go with an item: because the item is a namespace that holds what the owner itself needs, or
// defines the type of which the owner is an instance.
func (o Owner) isHome(item *InventoryItem) bool { return o.staying(item) != "" }

// staying says why an item is released although it ought to be deleted; empty if it is not.
func (o Owner) staying(item *InventoryItem) string {
	kind := item.GroupVersionKind().GroupKind()
	switch {
	case isNamespace(kind) && slices.Contains(o.Home, item.Name):
		return stays
	case o.Self != nil && definesTypes(kind) && slices.ContainsFunc(item.ManagedTypes, func(managed TypeVersionInfo) bool {
		return managed.matches(o.Self.GetObjectKind().GroupVersionKind())
	}):
		return staysDefined
	default:
		return ""
	}
}

// settle has the namespaces in which the owner itself lives, and the definition of its type, outlive it, whatever is declared. The
// items are changed.
func (o Owner) settle(items []*InventoryItem) {
	for _, item := range items {
		item.DeletePolicy = o.deletePolicy(item, item.DeletePolicy)
	}
}

// deletePolicy returns the policy that counts for an item if this one is declared.
func (o Owner) deletePolicy(item *InventoryItem, declared DeletePolicy) DeletePolicy {
	if o.isHome(item) {
		return DeletePolicyOrphan
	}
	return declared
}

// ending decides what to do about an unwanted object. Nobody waits for the end of what ends after the owner.
func (p *pass) ending(item *InventoryItem, s situation, d deletion) (ending, string) {
	if p.owner.isHome(item) {
		s.seen.Deleting = false
	}
	return decideDelete(item, s, d.orphan)
}
