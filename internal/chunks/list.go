// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/component-operator/runtime/internal/parallel"
)

// List is how a reference records a list of items: either packed into the reference itself, or as the names of chunks.
type List struct {
	// Items is the number of items.
	Items int `json:"items"`
	// Checksum is the Checksum function's result for the packed content, or for the contents of all chunks.
	Checksum string `json:"checksum"`
	// Packed is the JSON list of all items, compressed with gzip; empty if the items are in chunks.
	Packed []byte `json:"packed,omitempty"`
	// Chunks are the names of the chunks.
	Chunks []string `json:"chunks,omitempty"`
}

// PackItems returns a list without chunks. The error is ErrTooLarge if no object could hold it.
func PackItems(items []Item) (List, error) {
	content := Join(items)
	packed, err := Pack(content)
	if err != nil {
		return List{}, err
	}
	return List{Items: len(items), Checksum: Checksum([][]byte{content}), Packed: packed}, nil
}

// SpreadItems returns a list in chunks, and the contents of these chunks for Write. Before and size are those of Spread.
func (s *Store) SpreadItems(items []Item, before int, size int) (List, [][]byte) {
	contents := Spread(items, before, size)
	list := List{Items: len(items), Checksum: Checksum(contents)}
	for _, content := range contents {
		list.Chunks = append(list.Chunks, s.Name(content))
	}
	return list, contents
}

// Holds reports whether the list has exactly these items. Size must be the one that was given to SpreadItems; otherwise Holds may
// return false although the list has them.
func (l List) Holds(items []Item, size int) bool {
	contents := [][]byte{nil}
	if len(l.Chunks) > 0 {
		contents = Spread(items, len(l.Chunks), size)
	} else {
		contents[0] = Join(items)
	}
	return l.Items == len(items) && l.Checksum == Checksum(contents)
}

// Load reads the contents of a list. Damage and missing chunks are part of the result; see Read.
func (s *Store) Load(ctx context.Context, list List) (Found, error) {
	found := Found{Intact: Handles{}}
	switch {
	case len(list.Chunks) > 0:
		var err error
		if found, err = s.Read(ctx, list.Chunks); err != nil {
			return Found{}, err
		}
	case len(list.Packed) > 0:
		content, err := Unpack(list.Packed)
		if err != nil {
			found.Damage = []string{err.Error()}
			break
		}
		found.Contents = [][]byte{content}
	}
	if len(found.Damage) == 0 && Checksum(found.Contents) != list.Checksum {
		found.Damage = []string{"the items do not have the recorded checksum"}
	}
	return found, nil
}

// Decode returns the items of a list from the contents that Load has found. It adds to the damage contents that cannot be
// decoded, which it leaves out, and a number of items that differs from the recorded one.
func Decode[T any](found *Found, list List) []T {
	var items []T
	for _, content := range found.Contents {
		var part []T
		if err := json.Unmarshal(content, &part); err != nil {
			found.Damage = append(found.Damage, "decoding a list of items: "+err.Error())
			continue
		}
		items = append(items, part...)
	}
	if len(found.Damage) == 0 && list.Items != len(items) {
		found.Damage = append(found.Damage, fmt.Sprintf("there are %d items; the record lists %d", len(items), list.Items))
	}
	return items
}

// Encode returns values as items, with the key of each.
func Encode[T any](values []T, key func(T) string) ([]Item, error) {
	items, failures := make([]Item, len(values)), make([]error, len(values))
	parallel.Do(len(values), func(i int) {
		items[i].Key = key(values[i])
		items[i].Value, failures[i] = json.Marshal(values[i])
	})
	if err := cmp.Or(failures...); err != nil {
		return nil, fmt.Errorf("encoding a list of items: %w", err)
	}
	return items, nil
}
