// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// TestBehaviors leads a component whose generator attaches behaviors to its objects from a wait that its status names to Ready, by an event, and back after
// an error.
func TestBehaviors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	generate := func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
		objects, err := specObjects(ctx, namespace, name, parameters)
		if err != nil || len(objects) != 2 {
			return nil, errors.Join(err, fmt.Errorf("%d objects", len(objects)))
		}
		var address string
		source := behaviors.Attach(objects[0], behaviors.Extract(func(source *unstructured.Unstructured) error {
			address = source.GetAnnotations()["address"]
			if address == "broken" {
				return errors.New("the address is broken")
			}
			return nil
		}))
		user := behaviors.Attach(objects[1], behaviors.AtStep(1), behaviors.Guard(func() (string, error) {
			if address == "" {
				return "there is no address", nil
			}
			return "", nil
		}), behaviors.Complete(func(manifest *unstructured.Unstructured) error {
			return unstructured.SetNestedField(manifest.Object, address, "data", "address")
		}))
		return []client.Object{source, user}, nil
	}
	r.start(NewReconciler[*Widget](r.name, manifests.GeneratorFunc(generate), ReconcilerOptions{}))
	widget := r.widget("apiVersion: v1\nkind: Service\nmetadata: {name: source}\nspec: {type: ExternalName, externalName: c.example.io}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: user}\n---\n")
	r.create(widget)
	says := func(state State, text string) {
		t.Helper()
		await(r, widget, string(state)+": "+text, func() bool {
			got, _, message := widget.Status.GetState()
			return got == state && strings.Contains(message, text)
		})
	}
	says(StateProcessing, "held back: there is no address")
	announce := func(address string) {
		t.Helper()
		source := &unstructured.Unstructured{}
		source.SetAPIVersion("v1")
		source.SetKind("Service")
		source.SetNamespace(widget.Namespace)
		source.SetName("source")
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"address":%q}}}`, address)
		if err := r.client.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("somebody")); err != nil {
			t.Fatal(err)
		}
	}
	announce("a")
	awaitReady(r, widget)
	announce("broken")
	says(StateProcessing, "its data cannot be extracted: the address is broken")
	announce("b")
	awaitReady(r, widget)
	user := &unstructured.Unstructured{}
	user.SetAPIVersion("v1")
	user.SetKind("ConfigMap")
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: widget.Namespace, Name: "user"}, user); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedString(user.Object, "data", "address"); got != "b" {
		t.Errorf("got address %q", got)
	}
	r.delete(widget)
}
