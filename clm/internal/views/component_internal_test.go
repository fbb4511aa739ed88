// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/inventory"
)

// TestPackedInventory reads an inventory that is compressed, and one that is damaged.
func TestPackedInventory(t *testing.T) {
	t.Parallel()
	var want []*inventory.Item
	for i := range 100 {
		item := &inventory.Item{Phase: inventory.PhaseReady}
		item.Version, item.Kind, item.Namespace, item.Name = "v1", "ConfigMap", "shop", fmt.Sprintf("object-%02d", i)
		want = append(want, item)
	}
	encoded, err := chunks.EncodeInventory(want)
	if err != nil {
		t.Fatal(err)
	}
	list, err := chunks.PackItems(encoded)
	if err != nil {
		t.Fatal(err)
	}
	record := &inventory.Record{Content: list.Packed, Checksum: list.Checksum, Items: list.Items}
	found := &Component{Object: &unstructured.Unstructured{}, Status: component.Status{InventoryRecord: record}}
	if err := found.recall(t.Context(), nil); err != nil || cmp.Diff(want, found.Inventory) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(want, found.Inventory))
	}
	record.Checksum = strings.Repeat("0", len(record.Checksum))
	if err := found.recall(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the record is damaged; the operator repairs it: ") {
		t.Errorf("got %v", err)
	}
}
