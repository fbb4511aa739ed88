// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/manifests"
)

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
