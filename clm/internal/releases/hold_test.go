// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// inside makes an inventory of objects in the namespace of the release.
func (w *world) inside(count int) []*reconciler.InventoryItem {
	list := items(count, "i")
	for _, item := range list {
		item.Namespace = w.namespace
	}
	return list
}

// held returns the names of the Secrets in the namespace that have the finalizer; sorted.
func (w *world) held() []string {
	w.Helper()
	list := &corev1.SecretList{}
	w.must(w.client.List(w.Context(), list, client.InNamespace(w.namespace)))
	var names []string
	for _, secret := range list.Items {
		if slices.Contains(secret.Finalizers, finalizer) {
			names = append(names, secret.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestHoldFollowsWhatIsOutside kills the process at each write while a release gets its first dependents outside, and
// loses its last ones.
func TestHoldFollowsWhatIsOutside(t *testing.T) {
	t.Parallel()
	for reason, steps := range map[string][2]func(w *world) []*reconciler.InventoryItem{
		"in the index":   {func(w *world) []*reconciler.InventoryItem { return w.inside(2) }, func(w *world) []*reconciler.InventoryItem { return items(2, "o") }},
		"in new chunks":  {func(w *world) []*reconciler.InventoryItem { return w.inside(2) }, func(w *world) []*reconciler.InventoryItem { return items(60, "o") }},
		"in more chunks": {func(w *world) []*reconciler.InventoryItem { return w.inside(90) }, func(w *world) []*reconciler.InventoryItem { return append(w.inside(90), items(2, "o")...) }},
	} {
		for i, way := range []string{"gets", "loses"} {
			t.Run(reason+" "+way, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				for survived, done := 0, false; !done; survived++ {
					w.forget()
					w.createWith(steps[i](w))
					w.expectHold()
					clnt, left := dying(t, survived)
					release := w.get("demo")
					release.Inventory, release.State = steps[1-i](w), StateReady
					err := smallStore(clnt).Save(t.Context(), release)
					if done = left.Load() >= 0; done {
						w.must(err)
					}
					w.expectHold()
					next := w.get("demo")
					next.Inventory, next.Message = steps[1-i](w), "next"
					w.must(w.store.Save(t.Context(), next))
					w.expectHold()
					if names := w.held(); !next.Outside() && len(names) > 0 {
						t.Errorf("want nothing to hold the namespace any more, got %v", names)
					}
					if t.Failed() {
						t.Fatalf("after %d writes", survived)
					}
				}
			})
		}
	}
}

// expectHold checks that what is needed outlives the namespace, and no chunk without its index.
func (w *world) expectHold() {
	w.Helper()
	names, release := w.held(), w.get("demo")
	if len(names) > 0 && !slices.Contains(names, "clm.demo") {
		w.Errorf("chunks outlive their index: %v", names)
	}
	if !release.Outside() {
		return
	}
	for _, name := range append(release.stored.index.inventoryNames(), "clm.demo") {
		if !slices.Contains(names, name) {
			w.Errorf("%s does not outlive its namespace, but objects outside do", name)
		}
	}
}

// hooked is a content with a deletion hook.
func hooked() Content {
	result := content(10, "a")
	result.Manifest[0].SetAnnotations(map[string]string{"clm.cs.sap.com/deletion-hook": "pre-delete"})
	return result
}

// createHooked creates a release that holds its namespace.
func (w *world) createHooked() *Release {
	w.Helper()
	release := w.newRelease("demo")
	w.must(w.store.AddRevision(w.Context(), release, firstRevision(), hooked()))
	return release
}

// TestNewRecordIsHeldFromItsFirstWrite kills the process at each write while a release is made that has something
// outside, or deletion hooks.
func TestNewRecordIsHeldFromItsFirstWrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason    string
		inventory []*reconciler.InventoryItem
		content   Content
		want      bool
	}{
		{"something outside", items(2, "o"), content(10, "a"), true},
		{"a deletion hook", nil, hooked(), true},
		{"nothing", nil, content(10, "a"), false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for survived, done := 0, false; !done; survived++ {
				w.forget()
				clnt, left := dying(t, survived)
				release := w.newRelease("demo")
				release.Inventory = test.inventory
				err := smallStore(clnt).AddRevision(t.Context(), release, firstRevision(), test.content)
				if done = left.Load() >= 0; done {
					w.must(err)
				}
				secret := &corev1.Secret{}
				err = w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "clm.demo"}, secret)
				if err != nil && !apierrors.IsNotFound(err) {
					t.Fatal(err)
				}
				if held := slices.Contains(secret.Finalizers, finalizer); err == nil && held != test.want || len(w.held()) > 0 && !held {
					t.Errorf("after %d writes the index has the finalizer: %t, and these are held: %v", survived, held, w.held())
				}
			}
		})
	}
}
