// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import "slices"

// stays says why a namespace is released although it ought to be deleted.
const stays = "is released instead of being deleted, because what its owner needs is in it"

// isHome reports whether an item is a namespace that holds what the owner itself needs.
func (o Owner) isHome(item *InventoryItem) bool {
	return isNamespace(item.GroupVersionKind().GroupKind()) && slices.Contains(o.Home, item.Name)
}

// settle has the namespaces in which the owner itself lives outlive it, whatever is declared. The items are changed.
func (o Owner) settle(items []*InventoryItem) {
	for _, item := range items {
		if o.isHome(item) {
			item.DeletePolicy = DeletePolicyOrphan
		}
	}
}

// ending decides what to do about an unwanted object. Nobody waits for the end of a namespace that ends after the owner.
func (p *pass) ending(item *InventoryItem, s situation, d deletion) (ending, string) {
	if p.owner.isHome(item) {
		s.seen.Deleting = false
	}
	return decideDelete(item, s, d.orphan)
}
