// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/inventory"
)

// TestItemsWithoutObject has items that identify nothing, which any user can write where the schema of the definition
// does not prevent it. Nothing is decoded after the first of them.
func TestItemsWithoutObject(t *testing.T) {
	t.Parallel()
	named := &inventory.Item{TypeVersionInfo: inventory.TypeVersionInfo{Version: "v1", Kind: "ConfigMap"}, NameInfo: inventory.NameInfo{Name: "a"}}
	nameless := &inventory.Item{TypeVersionInfo: named.TypeVersionInfo}
	encoded, err := Encode([]*inventory.Item{named, nameless, nil, named}, func(*inventory.Item) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	found := Found{Contents: [][]byte{Join(encoded)}}
	got := DecodeInventory(&found, List{Items: 4})
	if diff := cmp.Diff([]*inventory.Item{named}, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	want := []string{"item 1 does not name an object"}
	if diff := cmp.Diff(want, found.Damage); diff != "" {
		t.Errorf("damage (-want +got):\n%s", diff)
	}
}
