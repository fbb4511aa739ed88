// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"slices"
	"sync"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// Departing is an owner whose objects are about to go.
type Departing struct {
	// Label is the value of the owner label of its objects.
	Label string
	Items []*inventory.Item
}

// Losses finds out what the deletion of an owner's dependents would destroy.
type Losses struct {
	Server *execute.Server
	Owner  decide.Owner
	// Configured are the additional managed types of the reconciler's options.
	Configured []inventory.TypeInfo
	Memory     decide.OwnerMemory
	Items      []*inventory.Item // of the owner
	// Departing are other owners whose objects are about to go, and do not count as instances that others have.
	Departing []Departing
	// Remaining returns the items that are still recorded.
	Remaining func() []*inventory.Item

	staying sync.Map // redundant items whose objects stay
}

// Stay notes that a redundant object is not deleted although others are. It is safe for concurrent use.
func (l *Losses) Stay(item *inventory.Item) { l.staying.Store(item, true) }

// Leave notes that a redundant object does not stay, or is gone.
func (l *Losses) Leave(item *inventory.Item) { l.staying.Delete(item) }

// Retains reports whether the deletion of an object would delete redundant objects that stay: the object is their
// namespace, or defines their type. It makes no request, and is safe for concurrent use.
func (l *Losses) Retains(item *inventory.Item) bool {
	isNamespace := prepare.IsNamespace(item.GroupVersionKind().GroupKind())
	if !isNamespace && len(item.ManagedTypes) == 0 {
		return false
	}
	retains := false
	l.staying.Range(func(key, _ any) bool {
		other, _ := key.(*inventory.Item)
		isInstance := slices.ContainsFunc(item.ManagedTypes, func(defined inventory.TypeVersionInfo) bool {
			return prepare.Matches(defined, other.GroupVersionKind())
		})
		retains = other != item && (isInstance || isNamespace && other.Namespace == item.Name)
		return !retains
	})
	return retains
}
