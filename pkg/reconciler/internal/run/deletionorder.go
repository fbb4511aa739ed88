// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// DeletionStage ranks items within a wave; a stage begins when the one before is gone.
type DeletionStage int

const (
	deletionInstances  DeletionStage = iota // instances of types that other items define
	deletionRegular                         // all others
	deletionNamespaces                      // their deletion deletes what they contain
)

// SortDeletion sorts items into delete order, and returns the function that ranks them within a wave.
func (c *Call) SortDeletion(items []*inventory.Item) (rank func(*inventory.Item) DeletionStage) {
	managed := prepare.NewTypeSet(c.Additional, c.Ledger.Items...)
	rank = func(item *inventory.Item) DeletionStage {
		switch {
		case managed.Instance(item.GroupVersionKind()):
			return deletionInstances
		case prepare.IsNamespace(item.GroupVersionKind().GroupKind()):
			return deletionNamespaces
		default:
			return deletionRegular
		}
	}
	slices.SortStableFunc(items, func(a, b *inventory.Item) int {
		return cmp.Or(cmp.Compare(a.DeleteOrder, b.DeleteOrder), cmp.Compare(rank(a), rank(b)), cmp.Compare(DeletionTier(a), DeletionTier(b)), types.IDOf(a).Compare(types.IDOf(b)))
	})
	return rank
}

// DeletionTier ranks items within a stage.
func DeletionTier(item *inventory.Item) int {
	return prepare.DeleteTier(item.GroupVersionKind().GroupKind())
}
