// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decisions

import (
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// stays says why a namespace is released although it ought to be deleted.
	stays = "is released instead of being deleted, because what its owner needs is in it"
	// staysDefined says why a definition is released although it ought to be deleted.
	staysDefined = "is released instead of being deleted, because its owner is an instance of a type that it defines"
)

// Owner is what decisions need to know of an owner.
type Owner struct {
	// ID identifies the owner, Label is the value of its label.
	ID, Label string
	// Namespace is where namespaced objects go that do not name one.
	Namespace string
	// Home are the namespaces without which the owner cannot be.
	Home []string
	// Self is the object for which the owner stands; nil if it is in another cluster.
	Self types.ObjectKey
	// AdditionalManagedTypes are those that the owner has named.
	AdditionalManagedTypes []inventory.TypeInfo
}

// isHome reports whether the owner would go with an item: because the item is a namespace that holds what the owner itself needs, or
// defines the type of which the owner is an instance.
func (o Owner) isHome(item *inventory.Item) bool { return o.Staying(item) != "" }

// Staying says why an item is released although it ought to be deleted; empty if it is not.
func (o Owner) Staying(item *inventory.Item) string {
	kind := item.GroupVersionKind().GroupKind()
	switch {
	case kinds.IsNamespace(kind) && slices.Contains(o.Home, item.Name):
		return stays
	case o.Self != nil && kinds.DefinesTypes(kind) && slices.ContainsFunc(item.ManagedTypes, func(managed inventory.TypeVersionInfo) bool {
		return kinds.Matches(managed, o.Self.GetObjectKind().GroupVersionKind())
	}):
		return staysDefined
	default:
		return ""
	}
}

// Settle has the namespaces in which the owner itself lives, and the definition of its type, outlive it, whatever is declared. The
// items are changed.
func (o Owner) Settle(items []*inventory.Item) {
	for _, item := range items {
		item.DeletePolicy = o.DeletePolicy(item, item.DeletePolicy)
	}
}

// DeletePolicy returns the policy that counts for an item if this one is declared.
func (o Owner) DeletePolicy(item *inventory.Item, declared inventory.DeletePolicy) inventory.DeletePolicy {
	if o.isHome(item) {
		return inventory.DeletePolicyOrphan
	}
	return declared
}

// Ending decides what to do about an unwanted object. Nobody waits for the end of what ends after the owner.
func (o Owner) Ending(item *inventory.Item, s Situation, d Deletion) (Ending, string) {
	if o.isHome(item) {
		s.Seen.Deleting = false
	}
	return Delete(item, s, d.Orphan)
}
