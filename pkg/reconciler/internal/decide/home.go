// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// homeStays is why a namespace is orphaned instead of deleted.
	homeStays = "is orphaned instead of deleted, because its owner needs its contents"
	// definitionStays is why a definition of a type is orphaned instead of deleted.
	definitionStays = "is orphaned instead of deleted, because it defines the type of its owner"
)

// Owner is an owner as decisions need it.
type Owner struct {
	// ID identifies the owner; Label is the value of its owner label.
	ID, Label string
	// Namespace is the namespace of namespaced objects that do not name one.
	Namespace string
	// Home are the namespaces that hold what the owner itself needs.
	Home []string
	// Self is the owner's own object; nil if it is in another cluster.
	Self types.ObjectKey
	// AdditionalManagedTypes are those that the owner names.
	AdditionalManagedTypes []inventory.TypeInfo
}

// isHome reports whether deleting the object of an item would delete the owner: the object is a namespace that holds
// what the owner needs, or defines the owner's type.
func (o Owner) isHome(item *inventory.Item) bool { return o.WhyOrphaned(item) != "" }

// WhyOrphaned says why an object is orphaned instead of deleted because the owner needs it; empty if the owner does
// not.
func (o Owner) WhyOrphaned(item *inventory.Item) string {
	kind := item.GroupVersionKind().GroupKind()
	switch {
	case prepare.IsNamespace(kind) && slices.Contains(o.Home, item.Name):
		return homeStays
	case o.Self != nil && prepare.DefinesTypes(kind) && slices.ContainsFunc(item.ManagedTypes, func(managed inventory.TypeVersionInfo) bool {
		return prepare.Matches(managed, o.Self.GetObjectKind().GroupVersionKind())
	}):
		return definitionStays
	default:
		return ""
	}
}

// ProtectHome sets the delete policy Orphan on the namespaces that the owner needs, and on the definition of its type,
// whatever their annotations say. It changes the items.
func (o Owner) ProtectHome(items []*inventory.Item) {
	for _, item := range items {
		item.DeletePolicy = o.DeletePolicy(item, item.DeletePolicy)
	}
}

// DeletePolicy returns the effective delete policy of an item with the given declared policy.
func (o Owner) DeletePolicy(item *inventory.Item, declared inventory.DeletePolicy) inventory.DeletePolicy {
	if o.isHome(item) {
		return inventory.DeletePolicyOrphan
	}
	return declared
}

// Ending decides what to do about an object that should be gone. Objects that the owner needs are gone only after the
// owner; so it does not wait until they are.
func (o Owner) Ending(item *inventory.Item, s Situation, d Deletion) (Ending, string) {
	if o.isHome(item) {
		s.Seen.Deleting = false
	}
	return Delete(item, s, d)
}
