// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/manifests"
)

// forge changes the status of a widget as a user who may do that.
func (r *rig) forge(widget *Widget, change func(status *Status)) {
	r.tb.Helper()
	r.read(widget)
	before := widget.DeepCopyObject().(client.Object)
	change(&widget.Status.Status)
	if err := r.client.Status().Patch(r.tb.Context(), widget, client.MergeFrom(before)); err != nil {
		r.tb.Fatal(err)
	}
}

// requestsIn returns those of an operator to a namespace that are about ConfigMaps and Secrets.
func requestsIn(requests *testenv.Requests, namespace string) int {
	return requests.Count(func(request testenv.Request) bool {
		return request.Namespace == namespace && (request.Resource == "configmaps" || request.Resource == "secrets")
	})
}

// TestForgedInventories has a user who may write statuses. The operator survives, and says what is damaged; dependents
// stay as they are, others' objects are neither read nor changed, and other components go on.
func TestForgedInventories(t *testing.T) {
	t.Parallel()
	const bomb = 7 << 20
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	content := "[" + strings.Repeat("{},", bomb) + "{}]"
	_, _ = writer.Write([]byte(content))
	_ = writer.Close()
	for _, test := range []struct {
		reason string
		forge  func(r *rig, elsewhere string, record *inventory.Record)
		want   string
	}{
		{
			"some KB that are 20 MiB unpacked", func(_ *rig, _ string, record *inventory.Record) {
				*record = inventory.Record{Items: bomb + 1, Checksum: chunks.Checksum([][]byte{[]byte(content)}), Content: packed.Bytes()}
			}, "it has more than 16777216 bytes",
		}, {
			"chunks in another namespace", func(_ *rig, elsewhere string, record *inventory.Record) { record.Namespace = elsewhere },
			"status.inventoryRecord.namespace is %[1]q; must be %[2]q, the namespace of the component",
		}, {
			"another ConfigMap of the namespace", func(_ *rig, _ string, record *inventory.Record) { record.Chunks = append(record.Chunks, "precious") },
			"ConfigMap %[2]s/precious: it is not a chunk of this list",
		}, {
			"the path of another resource", func(_ *rig, _ string, record *inventory.Record) {
				record.Chunks = append(record.Chunks, "../secrets/precious")
			}, "ConfigMap %[2]s/../secrets/precious: it is not a chunk of this list",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			elsewhere := testenv.Namespace(t)
			stop := r.start(r.crowdReconciler())
			widget, other := r.crowded(crowd{count: 60}), r.crowded(crowd{count: 1, namespace: elsewhere})
			other.Name = "other"
			for _, each := range []*Widget{widget, other} {
				r.create(each)
				awaitReady(r, each)
			}
			r.settle(widget)
			stop()
			for _, object := range []client.Object{
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "precious"}},
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "precious"}},
			} {
				r.create(object)
			}
			// The chunks exist there as well, with all marks.
			for name, chunk := range r.chunks() {
				r.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: name, Labels: chunk.Labels}, BinaryData: chunk.BinaryData})
			}
			members := r.members(r.namespace)
			r.forge(widget, func(status *Status) { test.forge(r, elsewhere, status.InventoryRecord) })
			r.requests.Reset()
			r.start(r.crowdReconciler())
			want := strings.NewReplacer("%[1]q", fmt.Sprintf("%q", elsewhere), "%[2]q", fmt.Sprintf("%q", r.namespace), "%[2]s", r.namespace).Replace(test.want)
			await(r, widget, "the end of the damage", func() bool {
				_, _, message := widget.Status.GetState()
				return widget.Status.IsReady() && strings.Contains(message, "the inventory was rebuilt from labels because its record was damaged (") && strings.Contains(message, want)
			})
			r.settle(widget)
			r.expectRecord(widget, 60)
			if now := r.members(r.namespace); !maps.Equal(members, now) {
				t.Errorf("dependents were changed: %v, before %v", now, members)
			}
			if count := requestsIn(r.requests, elsewhere); count > 0 {
				t.Errorf("want no requests in another namespace, got\n%s", r.requests)
			}
			change(r, other, func(w *Widget) { w.Spec.Objects = crowd{count: 2, namespace: elsewhere}.spec() })
			awaitReady(r, other)
			for _, object := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}} {
				if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "precious"}, object); err != nil {
					t.Error(err)
				}
			}
			r.delete(widget)
			r.awaitGone(widget)
			diff(t, "what is left", 0, len(r.chunks()))
		})
	}
}

// TestForgedHooks has a user who may write statuses make the reference to deletion hooks lead elsewhere, or to hooks
// that are none.
func TestForgedHooks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		// forge gets the namespace of an attacker, who has stored the content there, and beside the component.
		forge func(r *rig, elsewhere string, widget *Widget)
		want  string
	}{
		{"in another namespace", func(r *rig, elsewhere string, widget *Widget) {
			r.forge(widget, func(status *Status) { status.DeletionHooks.Namespace = elsewhere })
		}, "deletion hooks cannot be run: status.deletionHooks.namespace is %q; must be %q, the namespace of the component"},
		{"a hook without an object", func(r *rig, _ string, widget *Widget) {
			content := []byte(`[{"hook":"pre-delete"}]`)
			packed, err := chunks.Pack(content)
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(widget.Status.DeletionHooks.Secrets[0], "deletion-hooks-"), "-")
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace}, Data: map[string][]byte{"content": packed}}
			secret.Name = chunks.NewStore(chunks.Options{Prefix: "deletion-hooks-" + name}).Name(content)
			r.create(secret)
			checksum := chunks.Checksum([][]byte{content})
			change(r, widget, func(w *Widget) { w.Annotations[r.name+"/deletion-hooks-checksum"] = checksum })
			r.forge(widget, func(status *Status) {
				status.DeletionHooks.Secrets, status.DeletionHooks.Checksum, status.DeletionHooks.Objects = []string{secret.Name}, checksum, 1
			})
		}, "deletion hooks cannot be run: item 0 does not name an object"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			elsewhere := testenv.Namespace(t)
			own := func() *Reconciler[*Widget] {
				return NewReconciler[*Widget](r.name, manifests.GeneratorFunc(specObjects), ReconcilerOptions{})
			}
			stop := r.start(own())
			widget := r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete"))
			r.create(widget)
			awaitReady(r, widget)
			stop()
			test.forge(r, elsewhere, widget)
			r.requests.Reset()
			r.delete(widget)
			r.start(own())
			awaitState(r, widget, StateDeletionPending, ReadyConditionReasonDeletionRetrying)
			want := test.want
			if strings.Contains(want, "%q") {
				want = fmt.Sprintf(want, elsewhere, r.namespace)
			}
			if _, _, message := widget.Status.GetState(); !strings.Contains(strings.ToLower(message), strings.ToLower(want)) {
				t.Errorf("want %q, got %q", want, message)
			}
			change(r, widget, func(w *Widget) { w.Annotations[r.name+"/skip-deletion-hooks"] = "true" })
			r.awaitGone(widget)
			if count := requestsIn(r.requests, elsewhere); count > 0 {
				t.Errorf("want no requests in another namespace, got\n%s", r.requests)
			}
		})
	}
}

// TestForgedHooksAreRecordedAgain with the next pass: another namespace in the status does not make the hooks be lost.
func TestForgedHooksAreRecordedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	elsewhere := testenv.Namespace(t)
	own := r.reconciler(ReconcilerOptions{})
	r.start(own)
	widget := r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete"))
	r.create(widget)
	awaitReady(r, widget)
	r.forge(widget, func(status *Status) {
		status.DeletionHooks.Namespace = elsewhere
	})
	testenv.Eventually(t, func() (bool, string) {
		// The operator may not have seen what was forged.
		if _, err := r.reconcile(own, widget); err != nil {
			t.Fatal(err)
		}
		r.read(widget)
		hooks := widget.Status.DeletionHooks
		return hooks.Namespace == r.namespace, fmt.Sprintf("hooks are in %+v", hooks)
	})
	r.delete(widget)
	r.awaitGone(widget)
	diff(t, "what happened", []string{"+configmaps/settings", "+jobs/before", "-jobs/before", "-configmaps/settings"}, r.story())
	diff(t, "Secrets that are left", 0, len(r.hookSecrets()))
}

// TestForgedListsAreRefused has lists in the status that would take a hundred times their size in the cache of each
// operator.
func TestForgedListsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.widget("")
	r.create(widget)
	empty := func(count int) string { return "[" + strings.Repeat("{},", count-1) + "{}]" }
	for field, limit := range map[string]int{"inventory": 10_000, "deletionHooks.inventory": 10_000, "inventoryRecord.kinds": 10_000, "inventoryRecord.completed": 1000, "inventoryRecord.unlisted": 10_000} {
		outer, inner, nested := strings.Cut(field, ".")
		for count, refused := range map[int]bool{limit: false, limit + 1: true} {
			value := empty(count)
			if nested {
				value = fmt.Sprintf("{%q: %s}", inner, value)
			}
			err := r.client.Status().Patch(t.Context(), widget, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{%q: %s}}`, outer, value)))
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), "Too many") {
				t.Errorf("status.%s with %d items: got error %v", field, count, err)
			}
		}
	}
}

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
	if o.Kind != outcomes.Error || !strings.HasPrefix(o.Message, "panic: a mistake (component/forged_test.go:") {
		t.Errorf("unexpected outcome: %+v", o)
	}
}
