// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestMismatch(t *testing.T) {
	t.Parallel()
	named := func(names ...string) (items []*reconciler.InventoryItem) {
		for _, name := range names {
			items = append(items, &reconciler.InventoryItem{
				TypeVersionInfo: reconciler.TypeVersionInfo{Version: "v1", Kind: "ConfigMap"}, NameInfo: reconciler.NameInfo{Namespace: "a", Name: name},
			})
		}
		return items
	}
	otherVersion := named("x", "y")
	otherVersion[0].Version, otherVersion[0].Phase, otherVersion[0].UID = "v2", reconciler.PhaseDeleting, "1"
	for _, test := range []struct {
		reason string
		mark   string
		items  []*reconciler.InventoryItem
		want   string
	}{
		{"nobody has recorded how many there are, as the ancestor", "", named("x"), ""},
		{"all are there", records.Mark(named("x", "y")), named("x", "y"), ""},
		{"neither do state and version", records.Mark(named("x", "y")), otherVersion, ""},
		{"the list was emptied", records.Mark(named("x", "y")), nil, "status.inventory was empty although 2 dependents had been recorded"},
		{
			"one was replaced", records.Mark(named("x", "y")), named("x", "z"),
			"status.inventory, with 2 dependents, was not the list that had been recorded, with 2",
		},
		{"the mark is of a packed list that was dropped", "60:0123456789abcdef", nil, "status.inventory was empty although 60 dependents had been recorded"},
	} {
		diff(t, test.reason, test.want, records.Mismatch(test.mark, test.items))
	}
	diff(t, "the mark of nothing", "", records.Mark(nil))
}

// patchStatus changes the status as a user does by hand.
func (r *rig) patchStatus(widget *Widget, patch string) {
	r.tb.Helper()
	if err := r.client.Status().Patch(r.tb.Context(), widget, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		r.tb.Fatal(err)
	}
}

// removeItems shortens the list of dependents and leaves all else.
func (r *rig) removeItems(widget *Widget, count int) {
	r.tb.Helper()
	r.read(widget)
	generation := widget.Status.ObservedGeneration
	widget.Status.Inventory = widget.Status.Inventory[count:]
	if err := r.client.Status().Update(r.tb.Context(), widget); err != nil {
		r.tb.Fatal(err)
	}
	diff(r.tb, "observed generation", generation, widget.Status.ObservedGeneration)
}

// TestEditedInventories takes dependents out of the status while no operator runs. What is deleted or not wanted any
// more then must not stay, whatever else has changed at the same time.
func TestEditedInventories(t *testing.T) {
	t.Parallel()
	const dropRecord = `{"status":{"inventoryRecord":null}}`
	for _, test := range []struct {
		reason string
		count  int
		edit   func(r *rig, widget *Widget)
		want   string
	}{
		{"all items are removed", 3, func(r *rig, w *Widget) { r.patchStatus(w, `{"status":{"inventory":null}}`) }, "status.inventory was empty although 3 dependents had been recorded, 3 dependents found"},
		{"an item is removed", 3, func(r *rig, w *Widget) { r.removeItems(w, 1) }, "status.inventory, with 2 dependents, was not the list that had been recorded, with 3, 1 dependent found"},
		{"an item names nothing", 3, func(r *rig, w *Widget) { r.patchStatus(w, `{"status":{"inventory":[{}]}}`) }, "status.inventory was empty although 3 dependents had been recorded, 3 dependents found"},
		{"a packed list is dropped by a definition without that field", 8, func(r *rig, w *Widget) { r.patchStatus(w, dropRecord) }, "status.inventory was empty although 8 dependents had been recorded, 8 dependents found"},
		{"the reference to chunks is dropped", 200, func(r *rig, w *Widget) { r.patchStatus(w, dropRecord) }, "status.inventory was empty although 200 dependents had been recorded, 200 dependents found"},
		{"the reference to chunks is changed to one that does not count", 200, func(r *rig, w *Widget) { r.patchStatus(w, `{"status":{"inventoryRecord":{"inline":true}}}`) }, "status.inventory was empty although 200 dependents had been recorded, 200 dependents found"},
	} {
		for _, deleted := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, deleted: %t", test.reason, deleted), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				stop := r.start(r.crowdReconciler())
				widget := r.crowded(crowd{count: test.count})
				r.create(widget)
				awaitReady(r, widget)
				r.settle(widget)
				stop()
				test.edit(r, widget)
				if deleted {
					r.delete(widget)
				} else {
					// Nothing of the kind is wanted any more.
					change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{}.spec() })
				}
				r.start(r.crowdReconciler())
				r.awaitEvent("InventoryRebuilt", "The inventory was rebuilt from labels because "+test.want)
				if deleted {
					r.awaitGone(widget)
				} else {
					awaitReady(r, widget)
					diff(t, "items", 0, len(widget.Status.Inventory))
				}
				diff(t, "dependents that are left", 0, len(r.members(r.namespace)))
			})
		}
	}
}

// TestMarkSurvivesAPassThatEndsEarly has passes end before the inventory is known again: they must not confirm what is
// left of it.
func TestMarkSurvivesAPassThatEndsEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	stop()
	r.removeItems(widget, 1)
	change(r, widget, func(w *Widget) { w.Spec.Suspend = true })
	stop = r.start(r.reconciler(ReconcilerOptions{}))
	awaitState(r, widget, StatePending, ReadyConditionReasonSuspended)
	stop()
	change(r, widget, func(w *Widget) { w.Spec.Suspend, w.Spec.Objects = false, nil })
	r.start(r.reconciler(ReconcilerOptions{}))
	awaitReady(r, widget)
	if r.configMap("settings") != nil {
		t.Error("a dependent is left behind")
	}
}
