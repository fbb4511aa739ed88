// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
)

// TestNullInTheInventory has a user who may write the status put null into the list of dependents.
func TestNullInTheInventory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	stop()
	content := []byte(`[null]`)
	packed, err := chunks.Pack(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); err != nil {
		t.Fatal(err)
	}
	before := widget.DeepCopyObject().(client.Object)
	widget.Status.Inventory = nil
	widget.Status.InventoryRecord = &InventoryRecord{Content: packed, Checksum: chunks.Checksum([][]byte{content}), Items: 1}
	if err := r.client.Status().Patch(t.Context(), widget, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	change(r, widget, func(w *Widget) {
		w.Spec.Objects = r.objects("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
	})
	r.start(r.reconciler(ReconcilerOptions{}))
	await(r, widget, "the new spec to be reached", func() bool {
		return r.configMap("other") != nil && r.configMap("settings") == nil && widget.Status.ObservedGeneration == widget.Generation
	})
	awaitReady(r, widget)
	r.delete(widget)
	r.awaitGone(widget)
}

// TestEachStepIsRescued has a panic after the steps.
func TestEachStepIsRescued(t *testing.T) {
	t.Parallel()
	o := (&pass{worker: &worker{}}).rescued(func() outcomes.Outcome { panic("a mistake") })
	if o.Kind != outcomes.Error || !strings.HasPrefix(o.Message, "panic: a mistake (component/gaps_test.go:") {
		t.Errorf("unexpected outcome: %+v", o)
	}
}
