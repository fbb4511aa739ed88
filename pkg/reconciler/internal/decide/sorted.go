// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Sort sorts items in delete order, which is also the order of inventories.
func Sort(items []*inventory.Item) {
	slices.SortFunc(items, func(a, b *inventory.Item) int {
		return cmp.Or(
			cmp.Compare(a.DeleteOrder, b.DeleteOrder),
			cmp.Compare(prepare.DeleteTier(a.GroupVersionKind().GroupKind()), prepare.DeleteTier(b.GroupVersionKind().GroupKind())),
			types.IDOf(a).Compare(types.IDOf(b)),
		)
	})
}

// Index returns items by their objects.
func Index(items []*inventory.Item) map[types.ObjectID]*inventory.Item {
	byKey := make(map[types.ObjectID]*inventory.Item, len(items))
	for _, item := range items {
		byKey[types.IDOf(item)] = item
	}
	return byKey
}
