// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// memoryStore keeps the inventory of one owner in memory. A real store persists it, for example in the cluster.
type memoryStore struct {
	inventory []*reconciler.InventoryItem
}

func (s *memoryStore) Save(_ stdcontext.Context, inventory []*reconciler.InventoryItem) error {
	s.inventory = inventory
	return nil
}

// The engine can be used without components, by any program that applies objects of its own.
func ExampleNew() {
	apply := func(ctx stdcontext.Context, clnt cluster.Client, store *memoryStore) error {
		engine, err := reconciler.New("example.com", clnt, reconciler.Options{})
		if err != nil {
			return err
		}
		result, err := engine.Apply(ctx, reconciler.ApplyRequest{
			Owner: reconciler.Owner{ID: "my-program", Namespace: "default", Inventory: store.inventory, Store: store},
			Objects: []client.Object{
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"colour": "blue"}},
			},
		})
		store.inventory = result.Inventory
		for _, wait := range result.Waits {
			fmt.Println("waiting for", wait.Object.GetName(), wait.Message)
		}
		return err
	}
	_ = apply
}
