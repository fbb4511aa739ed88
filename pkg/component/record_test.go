// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestInventoryMovesToChunksAndBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var seen atomic.Int64
	stop := r.start(r.crowdReconciler().WithPostReconcileHook(func(_ context.Context, _ client.Client, widget *Widget) error {
		seen.Store(int64(len(widget.Status.Inventory)))
		return nil
	}))
	widget := r.crowded(crowd{count: 5})
	r.create(widget)
	awaitReady(r, widget)
	if widget.Status.InventoryRecord != nil || len(widget.Status.Inventory) != 5 {
		t.Fatalf("want a small inventory to be inline, got %+v", widget.Status.InventoryRecord)
	}
	change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{count: 60}.spec() })
	awaitReady(r, widget)
	r.settle(widget)
	r.expectRecord(widget, 60)
	diff(t, "items that a hook sees", int64(60), seen.Load())
	diff(t, "kinds", []reconciler.TypeVersionInfo{{Version: "v1", Kind: "ConfigMap"}}, widget.Status.InventoryRecord.Kinds)
	if len(widget.Status.InventoryRecord.Chunks) < 4 {
		t.Errorf("want several chunks, got %v", widget.Status.InventoryRecord.Chunks)
	}
	_, _, message := widget.Status.GetState()
	diff(t, "message", "60 dependents are ready", message)

	// The next process reads the chunks once, and at rest nothing.
	stop()
	r.requests.Reset()
	own := r.crowdReconciler()
	r.start(own)
	testenv.Eventually(t, func() (bool, string) { return r.chunkReads() > 0, "the chunks are not read" })
	for range 10 {
		if _, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
			t.Fatal(err)
		}
	}
	diff(t, "reads of chunks", len(widget.Status.InventoryRecord.Chunks), r.chunkReads())
	dependents, chunks := r.writes()
	diff(t, "writes", []int{0, 0}, []int{dependents, chunks})

	// One changed item: one chunk is written, and one goes by two requests. Left-over chunks are looked for.
	r.settle(widget)
	r.requests.Reset()
	change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{count: 60, changed: 30}.spec() })
	awaitReady(r, widget)
	r.expectRecord(widget, 60)
	r.settleCounting()
	dependents, chunks = r.writes()
	diff(t, "writes", []int{1, 3}, []int{dependents, chunks})

	change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{count: 3}.spec() })
	awaitReady(r, widget)
	r.settle(widget)
	if record := widget.Status.InventoryRecord; record == nil || !record.Inline || len(widget.Status.Inventory) != 3 || len(r.chunks()) > 0 {
		t.Errorf("want the inventory to be inline again, got %+v, %d items, %d chunks", record, len(widget.Status.Inventory), len(r.chunks()))
	}
	change(r, widget, func(w *Widget) { w.Spec.Objects = crowd{count: 40}.spec() })
	awaitReady(r, widget)
	r.settle(widget)
	r.expectRecord(widget, 40)
	r.delete(widget)
	r.awaitGone(widget)
	diff(t, "what is left", []int{0, 0}, []int{len(r.chunks()), len(r.members(r.namespace))})
}

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

// settleCounting waits until the operator does nothing any more, and keeps the record of its requests. A request is recorded
// when its response is there, which may be after its effect is seen.
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
	own := NewReconciler[*OldWidget](r.name, manifests.GeneratorFunc(crowdObjects), ReconcilerOptions{inlineLimit: 4000})
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

// TestADefinitionThatIsReplacedByAnOlderOne loses the record with the next write.
func TestADefinitionThatIsReplacedByAnOlderOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.widget("")
	widget.Finalizers = []string{r.name}
	r.create(widget)
	w := r.recorder(testenv.Config(t))
	s := r.begin(w, widget)
	if o := s.recall(t.Context()); o.Kind != outcomes.Continue {
		t.Fatal(o.Message)
	}
	if err := s.record.SaveInventory(t.Context(), inventoryOf(60, "a")); err != nil {
		t.Fatal(err)
	}
	keeping := w.resource.Client
	w.resource.Client = pruningClient{w.resource.Client}
	s.status.ObservedGeneration = 1
	s.status.SetState(StateProcessing, "A", "a")
	if err := s.record.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, next := range []*worker{w, r.recorder(testenv.Config(t))} {
		s = r.begin(next, widget)
		if o := s.acknowledge(t.Context()); o.Kind != outcomes.Continue {
			t.Fatal(o.Message)
		}
		if o := s.recall(t.Context()); o.Kind != outcomes.Continue {
			t.Fatal(o.Message)
		}
		if next == w && len(s.status.Inventory) != 60 {
			t.Errorf("want this process to remember, got %d items", len(s.status.Inventory))
		}
		if next != w && s.record.Gap() == "" {
			t.Error("want another process to notice the loss")
		}
	}
	// When the newer one is back, the next write brings all of the record, and the loss is over.
	w.resource.Client = keeping
	if err := r.saveInventory(w, inventoryOf(61, "a")); err != nil {
		t.Fatal(err)
	}
	if s = r.begin(w, widget); s.acknowledge(t.Context()).Kind != outcomes.Continue || s.status.ObservedGeneration != widget.Generation {
		t.Errorf("want the generation to be observed, got %d", s.status.ObservedGeneration)
	}
	r.read(widget)
	r.expectRecord(widget, 61)
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
func (r *rig) startGlobal(namespace string, former ...string) (stop func()) {
	r.tb.Helper()
	return r.startGlobally(crowdObjects, ReconcilerOptions{inlineLimit: 4000, StateNamespace: namespace, FormerStateNamespaces: former})
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

// TestAListOfAnOlderVersion is about an operator that does not know chunks and has worked on the component meanwhile.
func TestAListOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.widget("")
	r.create(widget)
	if err := r.saveInventory(r.recorder(testenv.Config(t)), inventoryOf(60, "a")); err != nil {
		t.Fatal(err)
	}
	r.read(widget)
	widget.Status.Inventory = append(inventoryOf(2, "b"), deployed("more")...)
	if err := r.client.Status().Update(t.Context(), widget); err != nil {
		t.Fatal(err)
	}
	want := append(inventoryOf(60, "a"), deployed("more")...)
	want[0].Digest, want[1].Digest = "b", "b"
	if !records.Same(want, r.recorded(widget)) {
		t.Error("want both to be united")
	}
	if err := r.saveInventory(r.recorder(testenv.Config(t)), want); err != nil {
		t.Fatal(err)
	}
	r.read(widget)
	r.expectRecord(widget, 61)
}

// TestChunksThatCannotBeWritten sees the operator without permission.
func TestChunksThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(r.widget(""))
	w := r.recorder(testenv.Config(t))
	w.resource.Client = forbiddenClient{w.resource.Client}
	err := r.saveInventory(w, inventoryOf(60, "a"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "recording the inventory: creating ConfigMap "+r.namespace+"/inventory-") {
		t.Errorf("want the chunk to be named, got %v", err)
	}
	if outcomes.Of(err).Kind != outcomes.Error {
		t.Error("want it to be tried again")
	}
}

type forbiddenClient struct{ client.Client }

func (forbiddenClient) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return apierrors.NewForbidden(corev1.Resource("configmaps"), object.GetName(), errors.New("not you"))
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
