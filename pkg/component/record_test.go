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
	r.delete(widget)
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
