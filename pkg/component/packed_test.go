// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// packer compresses inventories of more than 2 KB, some 8 items, and has those of more than 12 KB in chunks.
func (r *rig) packer() *Reconciler[*Widget] {
	return NewReconciler[*Widget](r.name, manifests.GeneratorFunc(crowdObjects), ReconcilerOptions{listLimit: 2000, inlineLimit: 12000})
}

// expectPacked checks that the inventory is in one value of the status, as people would read it.
func (r *rig) expectPacked(widget *Widget, items int) {
	r.tb.Helper()
	record := widget.Status.InventoryRecord
	if record == nil || record.Inline || len(record.Content) == 0 || len(record.Chunks) > 0 || len(widget.Status.Inventory) > 0 {
		r.tb.Fatalf("want the inventory to be packed, got %+v and %d items", record, len(widget.Status.Inventory))
	}
	content, err := chunks.Unpack(record.Content)
	if err != nil {
		r.tb.Fatal(err)
	}
	var list []*reconciler.InventoryItem
	if err := json.Unmarshal(content, &list); err != nil {
		r.tb.Fatal(err)
	}
	diff(r.tb, "packed items, and their number", []int{items, items}, []int{len(list), record.Items})
	diff(r.tb, "chunks", 0, len(r.chunks()))
}

// statusWrites counts writes of the component's status.
func (r *rig) statusWrites() int {
	r.settleCounting()
	return r.requests.Count(func(request testenv.Request) bool { return request.IsWrite() && request.Subresource == "status" })
}

func TestInventoryIsPacked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.packer())
	widget := r.crowded(crowd{count: 20})
	r.create(widget)
	awaitReady(r, widget)
	diff(t, "writes of the status", 2, r.statusWrites())
	r.expectPacked(widget, 20)
	diff(t, "kinds", []reconciler.TypeVersionInfo{{Version: "v1", Kind: "ConfigMap"}}, widget.Status.InventoryRecord.Kinds)

	stop()
	r.requests.Reset()
	own := r.packer()
	r.start(own)
	testenv.Eventually(t, func() (bool, string) {
		_, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name))
		return err == nil, fmt.Sprint(err)
	})
	status := r.statusWrites()
	dependents, _ := r.writes()
	diff(t, "writes after a restart, to dependents and to the status", []int{0, 0}, []int{dependents, status})

	for _, step := range []struct {
		count int
		check func()
	}{
		{21, func() { r.expectPacked(widget, 21) }},
		{60, func() { r.expectRecord(widget, 60) }},
		{10, func() { r.expectPacked(widget, 10) }},
		{60, func() { r.expectRecord(widget, 60) }},
		{2, func() { diff(t, "items", 2, len(widget.Status.Inventory)) }},
		{20, func() { r.expectPacked(widget, 20) }},
	} {
		change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{count: step.count}.spec() })
		awaitReady(r, widget)
		r.settle(widget)
		step.check()
		diff(t, "dependents", step.count, len(r.members(r.namespace)))
	}
	r.delete(widget)
	r.awaitGone(widget)
	diff(t, "what is left", []int{0, 0}, []int{len(r.chunks()), len(r.members(r.namespace))})
}

func TestAPackedInventoryThatIsDamaged(t *testing.T) {
	t.Parallel()
	for reason, damage := range map[string]func(*InventoryRecord){
		"decompressing its content: ":                 func(record *InventoryRecord) { record.Content = []byte("nonsense") },
		"the items do not have the recorded checksum": func(record *InventoryRecord) { record.Checksum = "0" },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			stop := r.start(r.packer())
			widget := r.crowded(crowd{count: 20})
			r.create(widget)
			awaitReady(r, widget)
			r.settle(widget)
			stop()
			before := r.members(r.namespace)
			damage(widget.Status.InventoryRecord)
			if err := r.client.Status().Update(t.Context(), widget); err != nil {
				t.Fatal(err)
			}
			r.start(r.packer())
			await(r, widget, "readiness with an explanation", func() bool {
				_, _, message := widget.Status.GetState()
				return widget.Status.IsReady() && strings.Contains(message, reason) && strings.Contains(message, "may run again")
			})
			diff(t, "dependents", before, r.members(r.namespace))
			r.settle(widget)
			r.expectPacked(widget, 20)
			r.delete(widget)
			r.awaitGone(widget)
			diff(t, "what is left", 0, len(r.members(r.namespace)))
		})
	}
}
