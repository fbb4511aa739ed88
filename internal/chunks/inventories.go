// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"errors"
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// EncodeInventory returns the dependents of an inventory as items, in the same order.
func EncodeInventory(list []*inventory.Item) ([]Item, error) {
	return Encode(list, func(item *inventory.Item) string { return types.IDOf(item).String() })
}

// DecodeInventory returns the dependents of a list from the contents that were found. It stops at an item that does not
// identify an object, and adds that to the damage: Encode never gets one.
func DecodeInventory(found *Found, list List) []*inventory.Item {
	return Decode(found, list, func(item *inventory.Item) error {
		if !identifiesObject(item) {
			return errors.New("does not name an object")
		}
		return nil
	})
}

// ValidInventory returns the items that identify an object. It changes the list.
func ValidInventory(list []*inventory.Item) []*inventory.Item {
	return slices.DeleteFunc(list, func(item *inventory.Item) bool { return !identifiesObject(item) })
}

func identifiesObject(item *inventory.Item) bool {
	return item != nil && item.Kind != "" && item.Version != "" && item.Name != ""
}
