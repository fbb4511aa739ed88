// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package inventories turns inventories into the items that package chunks stores, and back.
package inventories

import (
	"errors"
	"slices"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Encode returns the dependents of an inventory as items, in the same order.
func Encode(list []*inventory.Item) ([]chunks.Item, error) {
	return chunks.Encode(list, func(item *inventory.Item) string { return types.IDOf(item).String() })
}

// Decode returns the dependents of a list from the contents that were found. It stops at an item that does not identify
// an object, and adds that to the damage: Encode never gets one.
func Decode(found *chunks.Found, list chunks.List) []*inventory.Item {
	return chunks.Decode(found, list, func(item *inventory.Item) error {
		if !identifiesObject(item) {
			return errors.New("does not name an object")
		}
		return nil
	})
}

// Valid returns the items that identify an object. It changes the list.
func Valid(list []*inventory.Item) []*inventory.Item {
	return slices.DeleteFunc(list, func(item *inventory.Item) bool { return !identifiesObject(item) })
}

func identifiesObject(item *inventory.Item) bool {
	return item != nil && item.Kind != "" && item.Version != "" && item.Name != ""
}
