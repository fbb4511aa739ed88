// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func item(kind schema.GroupVersionKind, name string) *reconciler.InventoryItem {
	return &reconciler.InventoryItem{TypeVersionInfo: reconciler.TypeVersionInfo{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}, NameInfo: reconciler.NameInfo{Name: name}}
}

func TestDefinitionsAreNotLookedAt(t *testing.T) {
	definition := item(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "things.example.com")
	service := item(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}, "v1.example.com")
	e := &Explainer{awaited: map[display.Key]awaited{}}
	e.Await([]*reconciler.InventoryItem{definition, service})
	if items := e.due(); len(items) > 0 {
		t.Errorf("%d objects are looked at before the time", len(items))
	}
	for key, a := range e.awaited {
		e.awaited[key] = awaited{item: a.item, since: time.Now().Add(-explainAfter)}
	}
	if items := e.due(); len(items) != 1 || items[0] != service {
		t.Errorf("looked at: %v, want the APIService", items)
	}
}
