// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestWarmupIsBounded has a forged status.
func TestWarmupIsBounded(t *testing.T) {
	t.Parallel()
	items := []*reconciler.InventoryItem{nil}
	for i := range 2 * mostKinds {
		kind := reconciler.TypeVersionInfo{Group: "example.io", Version: "v1", Kind: fmt.Sprint("Kind", i)}
		for _, namespace := range []string{"a", "b"} {
			items = append(items, &reconciler.InventoryItem{TypeVersionInfo: kind, NameInfo: reconciler.NameInfo{Namespace: namespace, Name: "x"}})
		}
	}
	found := kindsOf(items, nil)
	if len(found) != mostKinds {
		t.Errorf("want %d kinds, got %d", mostKinds, len(found))
	}
	for kind, namespaces := range found {
		if len(namespaces) != 2 {
			t.Errorf("%s: want all namespaces of a kind that is watched, got %v", kind, namespaces)
		}
	}
}

// TestKindsOfManyComponentsAreBounded has components whose statuses name kinds that no other component has: they do not
// displace the kinds of others.
func TestKindsOfManyComponentsAreBounded(t *testing.T) {
	t.Parallel()
	u := NewWarmup(WarmupOptions{})
	common := schema.GroupVersionKind{Version: "v1", Kind: "ZConfigMap"}
	for i := range 2 * mostKindsInAll {
		found := kinds{}
		found.add(schema.GroupVersionKind{Group: "example.io", Version: "v1", Kind: fmt.Sprint("Forged", i)})
		if i < 2 {
			found.add(common, fmt.Sprint("namespace-", i))
		}
		u.record(client.ObjectKey{Name: fmt.Sprint(i)}, found)
	}
	needs := u.needs()
	if len(needs) != mostKindsInAll {
		t.Errorf("want %d kinds, got %d", mostKindsInAll, len(needs))
	}
	want := reconciler.Need{Kind: common, Namespaces: []string{"namespace-0", "namespace-1"}}
	if difference := cmp.Diff(want, needs[0]); difference != "" {
		t.Errorf("what most components have comes first (-want +got):\n%s", difference)
	}
}
