// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestThreeThousandDependents lives with the limits that everybody has.
func TestThreeThousandDependents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reconciler := func() *Reconciler[*Widget] {
		return NewReconciler[*Widget](r.name, manifests.GeneratorFunc(crowdObjects), ReconcilerOptions{})
	}
	const count = 3000
	stop := r.start(reconciler())
	widget := r.crowded(crowd{count: count})
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	r.expectRecord(widget, count)
	dependents, _ := r.writes()
	diff(t, "writes to dependents", 0, dependents)
	raw, err := json.Marshal(widget)
	if err != nil || len(raw) > 16<<10 {
		t.Errorf("want a small component, got %d bytes, error %v", len(raw), err)
	}

	stop()
	r.requests.Reset()
	own := reconciler()
	r.start(own)
	testenv.Eventually(t, func() (bool, string) { return r.chunkReads() > 0, "the chunks are not read" })
	if _, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
		t.Fatal(err)
	}
	r.settleCounting()
	dependents, chunks := r.writes()
	diff(t, "reads of chunks and writes after a restart", []int{len(widget.Status.InventoryRecord.Chunks), 0, 0}, []int{r.chunkReads(), dependents, chunks})

	r.requests.Reset()
	change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{count: count, changed: 1500}.spec() })
	awaitReady(r, widget)
	r.expectRecord(widget, count)
	r.settleCounting()
	dependents, chunks = r.writes()
	diff(t, "writes for one changed dependent", []int{1, 3}, []int{dependents, chunks})
	diff(t, "content", "changed", r.configMap("member-1500")["value"])

	change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{count: count - 1, changed: 1500}.spec() })
	awaitReady(r, widget)
	r.expectRecord(widget, count-1)
	if r.configMap(fmt.Sprintf("member-%04d", count-1)) != nil {
		t.Error("a dependent is left behind")
	}
	r.requests.Reset()
	r.delete(widget)
	// On a slow machine, the deletion takes longer than one Eventually.
	testenv.Eventually(t, func() (bool, string) {
		deleted, _ := r.writes()
		return deleted >= count/2, fmt.Sprintf("only %d dependents are deleted", deleted)
	})
	r.awaitGone(widget)
	diff(t, "what is left", []int{0, 0}, []int{len(r.chunks()), len(r.members(r.namespace))})
}

// settleCounting waits until the operator does nothing any more, and keeps the record of its requests. A request is
// recorded when its response is there, which may be after its effect is seen.
func (r *rig) settleCounting() {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		before := r.requests.Len()
		time.Sleep(600 * time.Millisecond)
		return r.requests.UnderWay() == 0 && r.requests.Len() == before, "the operator does not come to rest"
	})
}

func TestADefinitionThatDropsTheRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	own := NewReconciler[*OldWidget](r.name, manifests.GeneratorFunc(crowdObjects), ReconcilerOptions{inlineLimit: 16000})
	mgr := r.manager(nil)
	if err := own.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	r.run(mgr)
	widget := (*OldWidget)(r.crowded(crowd{count: 3}))
	r.create(widget)
	awaitReady(r, widget)
	before := r.members(r.namespace)
	change(r, widget, func(w *OldWidget) { w.Spec.Objects = crowd{count: 60, changed: 1}.spec() })
	await(r, widget, "a refusal", func() bool {
		state, _, message := widget.Status.GetState()
		return state == StateError && strings.Contains(message, "lacks status.inventoryRecord; update it") &&
			strings.Contains(message, "OldWidget "+r.namespace+"/demo: status.inventory: 60 dependents take ")
	})
	r.settle(widget)
	diff(t, "dependents", before, r.members(r.namespace))
	diff(t, "recorded items and chunks", []int{3, 0}, []int{len(widget.Status.Inventory), len(r.chunks())})
	change(r, widget, func(w *OldWidget) { w.Spec.Objects = crowd{count: 4}.spec() })
	awaitReady(r, widget)
	r.delete(widget)
	r.awaitGone(widget)
	diff(t, "what is left", 0, len(r.members(r.namespace)))
}

// pruningClient writes as if the definition did not know the record.
type pruningClient struct{ client.Client }

func (c pruningClient) SubResource(name string) client.SubResourceClient {
	return pruningWriter{c.Client.SubResource(name)}
}

type pruningWriter struct{ client.SubResourceClient }

func (p pruningWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	raw, err := patch.Data(object)
	if err != nil {
		return err
	}
	var content map[string]any
	if err := json.Unmarshal(raw, &content); err != nil {
		return err
	}
	if status, ok := content["status"].(map[string]any); ok {
		status["inventoryRecord"] = nil
	}
	if raw, err = json.Marshal(content); err != nil {
		return err
	}
	return p.SubResourceClient.Patch(ctx, object, client.RawPatch(patch.Type(), raw), options...)
}

// startGlobal starts an operator for components without namespace, whose chunks are kept in the given one.
func (r *rig) startGlobal(namespace string) (stop func()) {
	r.tb.Helper()
	return r.startGlobally(crowdObjects, ReconcilerOptions{inlineLimit: 16000, StateNamespace: namespace})
}

func TestClusterScopedComponents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.startGlobal("")
	widget := (*GlobalWidget)(r.crowded(crowd{count: 60, namespace: r.namespace}))
	widget.Name, widget.Namespace = r.namespace, ""
	r.create(widget)
	await(r, widget, "a refusal", func() bool {
		state, _, message := widget.Status.GetState()
		return state == StateError && strings.Contains(message, "unless the operator sets the option StateNamespace")
	})
	diff(t, "dependents", map[string]string{}, r.members(r.namespace))
	stop()
	r.startGlobal(r.namespace)
	awaitReady(r, widget)
	diff(t, "namespace of the chunks", r.namespace, widget.Status.InventoryRecord.Namespace)
	r.delete(widget)
	r.awaitGone(widget)
	diff(t, "what is left", []int{0, 0}, []int{len(r.chunks()), len(r.members(r.namespace))})
}

func TestSameItemComparesAllFields(t *testing.T) {
	t.Parallel()
	whole := reconciler.InventoryItem{}
	var visit func(path string, value reflect.Value)
	visit = func(path string, value reflect.Value) {
		if value.Kind() == reflect.Struct && value.Type() != reflect.TypeFor[metav1.Time]() {
			for i := range value.NumField() {
				visit(path+"."+value.Type().Field(i).Name, value.Field(i))
			}
			return
		}
		before := whole
		switch {
		case value.Kind() == reflect.String:
			value.SetString("other")
		case value.Kind() == reflect.Int:
			value.SetInt(7)
		case value.Kind() == reflect.Bool:
			value.SetBool(true)
		case value.Kind() == reflect.Slice:
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		case value.Kind() == reflect.Pointer:
			value.Set(reflect.New(value.Type().Elem()))
		default:
			t.Fatalf("%s: unknown kind %s", path, value.Kind())
		}
		if records.SameItem(&before, &whole) {
			t.Errorf("%s is not compared", path)
		}
	}
	visit("item", reflect.ValueOf(&whole).Elem())
	shuffled := inventoryOf(50, "a")
	slices.Reverse(shuffled)
	if !records.Same(inventoryOf(50, "a"), shuffled) {
		t.Error("want the order not to count")
	}
}

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
