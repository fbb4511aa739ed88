// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// item returns the record of a cluster-scoped object.
func item(kind schema.GroupVersionKind, name string) *reconciler.InventoryItem {
	return &reconciler.InventoryItem{TypeVersionInfo: reconciler.TypeVersionInfo{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}, NameInfo: reconciler.NameInfo{Name: name}}
}

// Definitions are large, and a release may have many: reading them slows down the server that is to establish them.
func TestDefinitionsAreNotLookedAt(t *testing.T) {
	definition := item(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "things.example.com")
	service := item(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}, "v1.example.com")
	e := &Explainer{woken: make(chan struct{}, 1), awaited: map[display.Key]awaited{}}

	e.Await([]*reconciler.InventoryItem{definition})
	if items, next := e.due(); len(items) > 0 || next > 0 || len(e.woken) > 0 {
		t.Errorf("%d objects are looked at, others in %s", len(items), next)
	}
	e.Await([]*reconciler.InventoryItem{definition, service})
	if items, next := e.due(); len(items) > 0 || next <= 0 || next > explainAfter {
		t.Errorf("%d objects are looked at, others in %s; want one within %s", len(items), next, explainAfter)
	}
	key := display.KeyOf(service)
	e.awaited[key] = awaited{item: service, since: time.Now().Add(-explainAfter)}
	if items, _ := e.due(); len(items) != 1 || items[0] != service {
		t.Errorf("looked at: %v, want the APIService", items)
	}
}
