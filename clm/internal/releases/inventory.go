// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// encodeInventory returns the form in which an inventory is to be recorded, and the contents of the chunks that this
// form refers to. It is the one in which it is recorded so far, if that says the same and its chunks are known to be
// intact.
func (o *Options) encodeInventory(store *chunks.Store, inventory []*reconciler.InventoryItem, before *chunks.List, known chunks.Handles) (*chunks.List, [][]byte, error) {
	if len(inventory) == 0 {
		return nil, nil, nil
	}
	items, err := chunks.EncodeInventory(inventory)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(items, func(a, b chunks.Item) int { return cmp.Compare(a.Key, b.Key) })
	count := 0
	if before != nil {
		isMissing := func(name string) bool { return known[name].UID == "" }
		if before.Holds(items, o.chunkSize) && !slices.ContainsFunc(before.Chunks, isMissing) {
			return before, nil, nil
		}
		count = len(before.Chunks)
	}
	// More than that is not even tried.
	const ratio = 32
	if chunks.Size(items) <= o.packedLimit*ratio {
		if list, err := chunks.PackItems(items); err == nil && len(list.Packed) <= o.packedLimit {
			return &list, nil, nil
		}
	}
	list, contents := store.SpreadItems(items, count, o.chunkSize)
	return &list, contents, nil
}

// readInventory returns a recorded inventory, and which of its chunks are intact. What is wrong with it is a text.
func readInventory(ctx context.Context, store *chunks.Store, list *chunks.List) (items []*reconciler.InventoryItem, intact chunks.Handles, damage string, err error) {
	if list == nil {
		return nil, nil, "", nil
	}
	found, err := store.Load(ctx, *list)
	if err != nil {
		return nil, nil, "", err
	}
	if items = chunks.DecodeInventory(&found, *list); len(found.Damage) > 0 {
		return nil, found.Intact, strings.Join(found.Damage, "; "), nil
	}
	slices.SortFunc(items, func(a, b *reconciler.InventoryItem) int { return types.IDOf(a).Compare(types.IDOf(b)) })
	return items, found.Intact, "", nil
}
