// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/probes"
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

// Phases are apply orders, and revisions are siblings: a program can roll out a set of objects phase by phase, with probes of its own, and hand them over to the next revision. Calling
// it again continues; Reconciler.Subscribe says when. Nothing needs a custom resource.
func ExampleReconciler_Apply_phases() {
	phase := func(order int, objects ...client.Object) []client.Object {
		for _, object := range objects {
			object.SetAnnotations(map[string]string{"example.com/apply-order": strconv.Itoa(order)})
		}
		return objects
	}
	rollOut := func(ctx stdcontext.Context, engine *reconciler.Reconciler, store *memoryStore) (bool, error) {
		ready, err := probes.New([]probes.Probe{{
			Selector: probes.Selector{Kind: &probes.Kind{Group: "apps", Kind: "Deployment"}},
			Checks:   []probes.Check{{Condition: &probes.Condition{Type: "Available"}}},
		}}, nil)
		if err != nil {
			return false, err
		}
		result, err := engine.Apply(ctx, reconciler.ApplyRequest{
			Owner: reconciler.Owner{ID: "web-2", Namespace: "shop", Inventory: store.inventory, Store: store},
			Objects: slices.Concat(
				phase(1, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"colour": "blue"}}),
				phase(2, deploymentOf("web:2")),
			),
			Siblings: map[string]reconciler.Relation{"web-1": reconciler.RelationOlder},
			Policies: reconciler.Policies{DeleteOrder: reconciler.DeleteOrderReversed},
			Judge:    ready,
		})
		store.inventory = result.Inventory
		return result.Done, err
	}
	tearDown := func(ctx stdcontext.Context, engine *reconciler.Reconciler, store *memoryStore) (bool, error) {
		result, err := engine.Delete(ctx, reconciler.DeleteRequest{Owner: reconciler.Owner{ID: "web-2", Inventory: store.inventory, Store: store}})
		store.inventory = result.Inventory
		return result.Done, err
	}
	_, _ = rollOut, tearDown
}

func deploymentOf(image string) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	deployment.Spec.Template.Labels = labels
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: image}}
	return deployment
}
