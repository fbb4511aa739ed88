// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/inventory"
)

// TestTheLargestList can be written, and read again.
func TestTheLargestList(t *testing.T) {
	t.Parallel()
	items := make([]*inventory.Item, MaxItems)
	for i := range items {
		items[i] = &inventory.Item{TypeVersionInfo: inventory.TypeVersionInfo{Version: "v1", Kind: "ConfigMap"}, NameInfo: inventory.NameInfo{Namespace: "default", Name: fmt.Sprint(i)}}
	}
	encoded, err := EncodeInventory(items)
	if err != nil {
		t.Fatal(err)
	}
	list, contents := NewStore(Options{Prefix: "list-a"}).SpreadItems(encoded, 0, 256<<10)
	found := Found{Contents: contents}
	if got := DecodeInventory(&found, list); len(found.Damage) > 0 || len(got) != len(items) {
		t.Errorf("want %d items, got %d, damage %v", len(items), len(got), found.Damage)
	}
	if _, err := EncodeInventory(append(items, items[0])); !errors.Is(err, ErrTooLarge) {
		t.Errorf("want ErrTooLarge for one more, got %v", err)
	}
}

// FuzzDecode decodes what anybody may have written into a record.
func FuzzDecode(f *testing.F) {
	for _, content := range []string{
		`[]`, `[null]`, `[{}]`, `{}`, `[`, ``, `[{"version":"v1","kind":"ConfigMap","name":"a"}]`, `[{"version":"v1","kind":"ConfigMap","name":"a","managedTypes":[{},{}]},{}]`,
		`[{"lastAppliedAt":"` + strings.Repeat("x", 5000) + `"}]`, strings.Repeat("[", 20000), `[{"name":"\`, `[{"name":"a\"},{`,
	} {
		f.Add([]byte(content), 1)
	}
	f.Fuzz(func(t *testing.T, content []byte, count int) {
		packed, err := Pack(content)
		if err != nil {
			t.Skip()
		}
		forged := List{Items: count, Checksum: Checksum([][]byte{content}), Packed: packed}
		found, err := NewStore(Options{}).Load(t.Context(), forged)
		if err != nil {
			t.Fatal(err)
		}
		items := DecodeInventory(&found, forged)
		if len(items) > max(count, 0) || len(found.Damage) == 0 && len(items) != count {
			t.Errorf("got %d items of %d, damage %v", len(items), count, found.Damage)
		}
		for _, text := range found.Damage {
			if len(text) > 600 {
				t.Errorf("a text of %d bytes", len(text))
			}
		}
		// What is intact is what was meant.
		var want []*inventory.Item
		if err := json.Unmarshal(content, &want); len(found.Damage) == 0 && (err != nil || !cmp.Equal(want, items)) {
			t.Errorf("got %v, want %v, error %v", items, want, err)
		}
		// Compressed data, too, may be anything.
		_, _ = Unpack(content)
	})
}
