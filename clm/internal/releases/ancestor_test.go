// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// ancestorInventory is one ConfigMap named web, as the ancestor records it.
const ancestorInventory = `- adoptionPolicy: IfUnowned
  applyOrder: 0
  deleteOrder: 0
  deletePolicy: Delete
  digest: abc
  group: ""
  kind: ConfigMap
  lastAppliedAt: "2025-01-02T03:04:05Z"
  name: web
  namespace: NAMESPACE
  phase: Ready
  reconcilePolicy: OnObjectChange
  status: Current
  updatePolicy: SsaOverride
  version: v1
`

// ancestorRecord creates what the ancestor has recorded of a release with three revisions.
func (w *world) ancestorRecord() *corev1.ConfigMap {
	w.Helper()
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "com.sap.cs.clm.release.demo", Labels: map[string]string{"release.clm.cs.sap.com": "demo"}, Finalizers: []string{"clm.cs.sap.com/finalizer"},
		},
		Data: map[string]string{
			"version": "1", "creationTimestamp": "2025-01-01T00:00:00Z", "updateTimestamp": "2025-01-02T00:00:00+01:00", "revision": "3", "state": "Ready",
			"inventory": strings.ReplaceAll(ancestorInventory, "NAMESPACE", w.namespace),
		},
	}
	w.must(w.client.Create(w.Context(), configMap))
	return configMap
}

// ancestorIsGone reports whether the ancestor's record is gone.
func (w *world) ancestorIsGone() bool {
	w.Helper()
	err := w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "com.sap.cs.clm.release.demo"}, &corev1.ConfigMap{})
	w.must(client.IgnoreNotFound(err))
	return apierrors.IsNotFound(err)
}

// TestTakeoverFromAncestor applies a release that the ancestor has made.
func TestTakeoverFromAncestor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := OwnerID(w.namespace, "demo")
	object := testenv.Object(t, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, data: {kept: x, dropped: x},
metadata: {name: web, namespace: %s, labels: {clm.cs.sap.com/owner-id: %s}, annotations: {clm.cs.sap.com/owner-id: %s, clm.cs.sap.com/digest: abc}}}`,
		w.namespace, manifest.OwnerLabel(owner), owner))
	w.must(w.client.Create(t.Context(), object, client.FieldOwner(ReconcilerName)))
	w.ancestorRecord()

	list, err := w.store.List(t.Context(), w.namespace, nil)
	w.must(err)
	names, err := w.store.Names(t.Context(), w.namespace)
	w.must(err)
	if len(list) != 1 || list[0].Name != "demo" || !list[0].Ancestor || list[0].Current().Number != 3 || len(names) != 1 || names[0].Name != "demo" {
		t.Errorf("want the release to be listed, got %v, %v", list, names)
	}
	release := w.get("demo")
	want := Revision{Number: 3, State: RevisionReady, Created: time.Date(2025, 1, 1, 23, 0, 0, 0, time.UTC), Description: "applied by an earlier version of clm", Objects: 1, Installed: true}
	if !release.Ancestor || release.State != StateReady || fmt.Sprint(*release.Current()) != fmt.Sprint(want) {
		t.Errorf("got %+v", release)
	}
	w.must(w.store.AddRevision(t.Context(), release, Revision{Description: "applied"}, content(1, "a")))
	if release.Ancestor || release.Current().Number != 4 || release.Revisions[0].State != RevisionSuperseded || !w.ancestorIsGone() {
		t.Errorf("got %+v", release)
	}
	w.equal("record", release, w.get("demo"))
	if list, err = w.store.List(t.Context(), w.namespace, nil); err != nil || len(list) != 1 || list[0].Ancestor {
		t.Errorf("want it to be listed once, got %v, %v", list, err)
	}
	if _, err := w.store.Content(t.Context(), release, 3); err == nil || !strings.Contains(err.Error(), "its content is no longer available; available revisions: 4") {
		t.Errorf("got %v", err)
	}

	engine, err := reconciler.New(ReconcilerName, w.client, reconciler.Options{})
	w.must(err)
	wanted := object.DeepCopy()
	wanted.Object = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web"}, "data": map[string]any{"kept": "x"}}
	result, err := engine.Apply(t.Context(), reconciler.ApplyRequest{
		Owner:   reconciler.Owner{ID: owner, Namespace: w.namespace, Inventory: release.Inventory, Store: inventoryOf{w.store, release}},
		Objects: []client.Object{wanted},
	})
	w.must(err)
	after := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(object), after))
	data, _, _ := unstructured.NestedStringMap(after.Object, "data")
	if !result.Done || after.GetUID() != object.GetUID() || fmt.Sprint(data) != "map[kept:x]" {
		t.Errorf("want the object to be updated in place, got %v, %v", result.Done, after)
	}
}

// inventoryOf keeps the inventory of a release.
type inventoryOf struct {
	store   *Store
	release *Release
}

func (i inventoryOf) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	i.release.Inventory = inventory
	return i.store.Save(ctx, i.release)
}

// TestDeathWhileTakingOver lets the process die after each write.
func TestDeathWhileTakingOver(t *testing.T) {
	t.Parallel()
	for survived, done := 0, false; !done; survived++ {
		w := newWorld(t)
		w.ancestorRecord()
		release := w.get("demo")
		clnt, left := dying(t, survived)
		err := smallStore(clnt).AddRevision(t.Context(), release, firstRevision(), content(30, "a"))
		if done = left.Load() >= 0; done {
			w.must(err)
		}
		found := w.get("demo")
		if len(found.Inventory) != 1 || found.Inventory[0].Name != "web" || found.Revisions[0].Number != 3 {
			t.Fatalf("after %d writes: got %+v", survived, found)
		}
		if found.Ancestor && w.ancestorIsGone() || found.Ancestor != (survived == 0) {
			t.Fatalf("after %d writes: want the index to come first", survived)
		}
		w.must(w.store.AddRevision(t.Context(), found, Revision{}, content(5, "r")))
		if !w.ancestorIsGone() {
			t.Fatalf("after %d writes: want the next write to remove the ancestor's record", survived)
		}
		w.expectContent(found, found.Current().Number, content(5, "r"))
		w.expectNoWaste(found)
	}
}

// TestRemovalOfWhatTheAncestorMade does not go through a first apply.
func TestRemovalOfWhatTheAncestorMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ancestorRecord()
	release := w.get("demo")
	release.State, release.Inventory = StateDeleting, nil
	w.must(w.store.Save(t.Context(), release))
	w.must(w.store.Remove(t.Context(), w.get("demo")))
	if _, err := w.store.Get(t.Context(), w.namespace, "demo"); !errors.Is(err, ErrNotFound) || !w.ancestorIsGone() {
		t.Errorf("want nothing to be left, got %v", err)
	}
}

// TestAncestorThatGoesOnWorking writes its record after it was taken over.
func TestAncestorThatGoesOnWorking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	configMap := w.ancestorRecord()
	release := w.get("demo")
	configMap.Data["revision"] = "4"
	w.must(w.client.Update(t.Context(), configMap))
	err := w.store.AddRevision(t.Context(), release, Revision{}, content(1, "a"))
	if err == nil || !strings.Contains(err.Error(), "it has changed since the release was migrated; make sure") || w.ancestorIsGone() {
		t.Errorf("want the takeover to be held up, got %v", err)
	}
}

func TestWhatCannotBeTakenOver(t *testing.T) {
	t.Parallel()
	for want, change := range map[string][2]string{
		"it is being deleted; finish the deletion with the version of clm that started it": {"state", "Deleting"},
		`version is "2"; must be "1"; repair it with the version of clm that created it`:   {"version", "2"},
		`state is "Odd"`:             {"state", "Odd"},
		"decoding inventory: ":       {"inventory", "- kind: ["},
		"item without kind or name;": {"inventory", "- kind: ConfigMap"},
		"decoding revision: ":        {"revision", "x"},
	} {
		data := map[string]string{"version": "1", "revision": "3", "state": "Ready", "inventory": ancestorInventory}
		data[change[0]] = change[1]
		_, err := decodeAncestor(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: ancestorPrefix + "demo"}, Data: data})
		if err == nil || !strings.Contains(err.Error(), "ConfigMap default/com.sap.cs.clm.release.demo") || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
