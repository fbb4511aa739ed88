// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/parallel"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// encodeItems returns the items as they are stored, sorted.
func encodeItems(inventory []*reconciler.InventoryItem) ([]chunks.Item, error) {
	items, failures := make([]chunks.Item, len(inventory)), make([]error, len(inventory))
	parallel.Do(len(inventory), func(i int) {
		items[i].Key = keyOf(inventory[i])
		items[i].Value, failures[i] = json.Marshal(inventory[i])
	})
	if err := cmp.Or(failures...); err != nil {
		return nil, fmt.Errorf("encoding the inventory: %w", err)
	}
	slices.SortFunc(items, func(a, b chunks.Item) int { return cmp.Compare(a.Key, b.Key) })
	return items, nil
}

func keyOf(item *reconciler.InventoryItem) string {
	return item.Group + "/" + item.Kind + "/" + item.Namespace + "/" + item.Name
}

// encodeInventory returns the form in which an inventory is to be recorded, and the contents of the chunks that this form refers
// to. It is the one in which it is recorded so far, if that says the same and its chunks are known to be intact.
func (o *Options) encodeInventory(store *chunks.Store, inventory []*reconciler.InventoryItem, before *itemList, known chunks.Handles) (*itemList, [][]byte, error) {
	if len(inventory) == 0 {
		return nil, nil, nil
	}
	items, err := encodeItems(inventory)
	if err != nil {
		return nil, nil, err
	}
	whole := chunks.Join(items)
	list := &itemList{Items: len(items), Checksum: chunks.Checksum([][]byte{whole})}
	if before != nil && before.Checksum == list.Checksum && !slices.ContainsFunc(before.Chunks, func(name string) bool { return known[name].UID == "" }) {
		return before, nil, nil
	}
	limit := o.packedLimit
	if len(before.chunks()) > 0 {
		// So that it does not change to and fro.
		limit /= 2
	}
	// More than that is not even tried.
	const ratio = 32
	if len(whole) <= limit*ratio {
		packed, err := chunks.Pack(whole)
		if err == nil && len(packed) <= limit {
			list.Packed = packed
			return list, nil, nil
		}
	}
	contents := chunks.Spread(items, len(before.chunks()), o.chunkSize)
	for _, content := range contents {
		list.Chunks = append(list.Chunks, store.Name(content))
	}
	return list, contents, nil
}

// readInventory returns a recorded inventory, and which of its chunks are intact. What is wrong with it is a text.
func readInventory(ctx context.Context, store *chunks.Store, list *itemList) (items []*reconciler.InventoryItem, intact chunks.Handles, damage string, err error) {
	if list == nil {
		return nil, nil, "", nil
	}
	var contents [][]byte
	if len(list.Chunks) == 0 {
		content, err := chunks.Unpack(list.Packed)
		if err != nil {
			return nil, nil, err.Error(), nil
		}
		contents = [][]byte{content}
	} else {
		found, err := store.Read(ctx, list.Chunks)
		if err != nil {
			return nil, nil, "", err
		}
		contents, intact = found.Contents, found.Intact
		if len(found.Damage) > 0 {
			return nil, intact, strings.Join(found.Damage, "; "), nil
		}
	}
	for _, content := range contents {
		var part []*reconciler.InventoryItem
		if err := json.Unmarshal(content, &part); err != nil {
			return nil, intact, "decoding it: " + err.Error(), nil
		}
		items = append(items, part...)
	}
	for i, item := range items {
		if item == nil || item.Kind == "" || item.Version == "" || item.Name == "" {
			return nil, intact, fmt.Sprintf("item %d names no object", i), nil
		}
	}
	if len(items) != list.Items {
		return nil, intact, fmt.Sprintf("it has %d items; recorded is that it has %d", len(items), list.Items), nil
	}
	slices.SortFunc(items, func(a, b *reconciler.InventoryItem) int { return cmp.Compare(keyOf(a), keyOf(b)) })
	return items, intact, "", nil
}
