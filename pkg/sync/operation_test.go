// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sync"
)

// TestBegunRecreationsAreFinished has the API server refuse one object of a wave, while another one is being deleted to
// be created again.
func TestBegunRecreationsAreFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clnt, err := reconciler.Connect(w.config)
	if err != nil {
		t.Fatal(err)
	}
	const name = "recreations.example.com"
	engine, err := reconciler.New(name, clnt, reconciler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	request := reconciler.ApplyRequest{Owner: reconciler.Owner{ID: w.namespace, Namespace: w.namespace, Store: &record{}}}
	want := func(manifests string) {
		request.Objects = nil
		for _, object := range w.targets(manifests) {
			request.Objects = append(request.Objects, object)
		}
	}
	live := func() *corev1.ConfigMap {
		found := &corev1.ConfigMap{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "a"}, found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	freed := false
	operation := &sync.Operation{
		Engine: engine, Owner: w.namespace,
		Call: func(ctx context.Context) (reconciler.Result, error) {
			result, err := engine.Apply(ctx, request)
			request.Inventory = result.Inventory
			return result, err
		},
		Stepped: func(state sync.State) {
			if len(state.Result.Waits) == 1 && state.Result.Waits[0].Recreating && !freed {
				freed = true
				held := live()
				held.SetFinalizers(nil)
				if err := w.client.Update(t.Context(), held); err != nil {
					t.Error(err)
				}
			}
		},
	}
	want(configMap("a", name+"/update-policy", "recreate"))
	if state, err := operation.Run(t.Context()); err != nil || state.Phase != sync.OperationSucceeded {
		t.Fatalf("%+v, %v", state, err)
	}
	before := live()
	before.SetFinalizers([]string{"example.com/held"})
	if err := w.client.Update(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	want(strings.ReplaceAll(configMap("a", name+"/update-policy", "recreate"), "k: v", "k: w") + strings.ReplaceAll(configMap("b"), "k: v", "'not valid': v"))
	state, err := operation.Run(t.Context())
	if err != nil || state.Phase != sync.OperationFailed || state.Err == nil || !strings.Contains(state.Err.Error(), "not valid") || !freed {
		t.Errorf("%+v, %v", state, err)
	}
	if live().UID == before.UID {
		t.Error("the object is still the former one")
	}
}
