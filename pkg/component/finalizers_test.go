// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
)

// TestFinalizerChangesWithTheVersion upgrades an operator to a version with another finalizer. One component is deleted
// while no operator runs, and another one lives on.
func TestFinalizerChangesWithTheVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := testenv.UniqueName(t) + ".example.com"
	const former, current = "example.io/former", "example.io/current"
	stop := r.start(r.reconciler(ReconcilerOptions{Finalizer: new(former)}))
	living, dying := r.widget(strings.ReplaceAll(gadgets, "GROUP", group)), r.widget(strings.ReplaceAll(oneConfigMap, "name: ", "name: other-"))
	dying.Name += "-dying"
	r.create(living)
	r.create(dying)
	awaitReady(r, living)
	awaitReady(r, dying)
	definition := testenv.Object(t, strings.ReplaceAll(gadgets, "GROUP", group))
	t.Cleanup(func() {
		_ = r.client.Patch(context.WithoutCancel(t.Context()), definition, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		_ = r.client.Delete(context.WithoutCancel(t.Context()), definition)
	})
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(definition.GetFinalizers(), former) || !slices.Equal(living.Finalizers, []string{former}) {
		t.Fatalf("expected the former finalizer, got %v, %v", definition.GetFinalizers(), living.Finalizers)
	}
	stop()
	r.delete(dying)

	r.start(r.reconciler(ReconcilerOptions{Finalizer: new(current), FormerFinalizers: []string{former}}))
	r.awaitGone(dying)
	await(r, living, "the new finalizer instead of the former one", func() bool { return slices.Equal(living.Finalizers, []string{current}) })
	awaitReady(r, living)
	r.delete(living)
	r.awaitGone(living)
	r.awaitGone(definition)
}

// made has an operator make a component, and stops the operator.
func (r *rig) made(options ReconcilerOptions) *Widget {
	r.tb.Helper()
	widget := r.widget(oneConfigMap)
	stop := r.start(r.reconciler(options))
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	stop()
	return widget
}

// TestAnotherNameAlone is about an operator with another name: it adopts nothing, and names the former operator.
func TestAnotherNameAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.made(ReconcilerOptions{})
	r.start(NewReconciler[*Widget]("renamed."+r.name, manifests.GeneratorFunc(specObjects), ReconcilerOptions{}))
	await(r, widget, "a refusal that names the former operator", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, "already exists and belongs to ") && strings.Contains(message, " of operator "+r.name)
	})
}

// TestDeletedByAnotherName is about an operator with another name that deletes a component: it leaves nothing behind
// without saying so.
func TestDeletedByAnotherName(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]ReconcilerOptions{"status": {}, "chunks": {inlineLimit: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			finalizer := r.name + "/finalizer"
			options.Finalizer = &finalizer
			widget := r.made(options)
			r.delete(widget)
			stop := r.start(NewReconciler[*Widget]("renamed."+r.name, manifests.GeneratorFunc(specObjects), options))
			await(r, widget, "a refusal that names the former operator", func() bool {
				_, _, message := widget.Status.GetState()
				return strings.Contains(message, "settings: is recorded as a dependent, but has the owner label or annotation of operator "+r.name+"; ")
			})
			stop()
			if r.configMap("settings") == nil {
				t.Fatal("want the dependent to stay")
			}
			r.start(r.reconciler(options))
			r.awaitGone(widget)
			if r.configMap("settings") != nil {
				t.Error("want the dependent to be deleted")
			}
		})
	}
}
