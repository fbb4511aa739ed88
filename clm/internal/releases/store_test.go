// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"demo", "with.dots.in-it", strings.Repeat("long.", 49) + "name"} {
		t.Run(name[:4], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			release := w.create(name)
			w.equal("after the creation", w.get(name), release)
			if release.State != StateApplying || release.Created.IsZero() || !release.Updated.After(release.Created) {
				t.Errorf("got %+v", release)
			}
			release.Inventory, release.HookInventory, release.DeletionStage = items(3, "a"), items(1, "h"), "PreDelete"
			release.TestInventory = items(2, "t")
			release.State, release.Message, release.Current().State = StateReady, "all is well", RevisionReady
			w.must(w.store.Save(t.Context(), release))
			w.equal("after a save", w.get(name), release)
			since := release.Since
			release.Message = "all is still well"
			w.must(w.store.Save(t.Context(), release))
			if !since.Before(release.Updated) || !release.Since.Equal(since) || !w.get(name).Since.Equal(since) {
				t.Errorf("want it to be in its state since %s, got %s, updated %s", since, release.Since, release.Updated)
			}
			w.must(w.store.AddRevision(t.Context(), release, Revision{Description: "second"}, content(3, "b")))
			found := w.get(name)
			w.equal("after a second revision", found, release)
			if release.Revisions[0].State != RevisionSuperseded || found.Current().Number != 2 || found.Current().Objects != 3 || found.State != StateApplying {
				t.Errorf("got %+v", found)
			}
			w.expectContent(found, 1, content(10, "a"))
			w.expectContent(found, 2, content(3, "b"))
			w.expectNoWaste(found)
			found.Inventory, found.HookInventory = nil, nil
			if err := w.store.Remove(t.Context(), found); err == nil || !strings.Contains(err.Error(), "it still has 2 objects") {
				t.Errorf("want a refusal while there are tests, got %v", err)
			}
			found.TestInventory = nil
			w.must(w.store.Remove(t.Context(), found))
			if left := w.secrets(); len(left) > 0 {
				t.Errorf("left are %v", left)
			}
			if _, err := w.store.Get(t.Context(), w.namespace, name); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), w.namespace+"/"+name) {
				t.Errorf("want an error that names the release, got %v", err)
			}
		})
	}
}

// TestNothingIsWrittenForNothing counts requests.
func TestNothingIsWrittenForNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.create("demo")
	release.Inventory = items(60, "a")
	w.must(w.store.Save(t.Context(), release))
	for _, again := range []*Release{release, w.get("demo")} {
		w.requests.Reset()
		again.Prune(10, 0)
		w.must(w.store.Save(t.Context(), again))
		if count := w.requests.Len(); count > 0 {
			t.Errorf("want no request, got:\n%s", w.requests)
		}
	}
	release.Message = "new"
	w.requests.Reset()
	w.must(w.store.Save(t.Context(), release))
	if count := w.requests.Len(); count != 1 {
		t.Errorf("want one request, got:\n%s", w.requests)
	}
}

func TestTwoWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createWith(items(60, "a"))
	first, second := w.get("demo"), w.get("demo")
	first.Inventory, second.Inventory = items(60, "b"), items(60, "c")
	w.must(w.store.Save(t.Context(), first))
	if err := w.store.Save(t.Context(), second); !errors.Is(err, ErrOutdated) {
		t.Errorf("want ErrOutdated, got %v", err)
	}
	if err := w.store.AddRevision(t.Context(), second, Revision{}, content(3, "c")); !errors.Is(err, ErrOutdated) || len(second.Revisions) != 1 {
		t.Errorf("want ErrOutdated and the release as before, got %v, %d revisions", err, len(second.Revisions))
	}
	if err := w.store.AddRevision(t.Context(), w.newRelease("demo"), firstRevision(), content(3, "c")); !errors.Is(err, ErrOutdated) {
		t.Errorf("want ErrOutdated, got %v", err)
	}
	if err := w.store.Remove(t.Context(), &Release{Namespace: w.namespace, Name: "demo", State: StateDeleting, stored: second.stored}); !errors.Is(err, ErrOutdated) {
		t.Errorf("want ErrOutdated, got %v", err)
	}
	found := w.get("demo")
	w.equal("record", first, found)
	// The next write removes what the refused writes have left.
	found.Message = "next"
	w.must(w.store.Save(t.Context(), found))
	w.expectNoWaste(found)
}

// TestARivalWritesWhileTheRecordGoes marks the record as everything is marked that is in a namespace which is being
// deleted. Another writer has come first: that the mark alone is no reason to give up must not overwrite what the other
// one has written.
func TestARivalWritesWhileTheRecordGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: prefix + "demo"}}
	w.must(w.client.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":["`+finalizer+`","example.com/hold"]}}`))))
	rival, late := w.get("demo"), w.get("demo")
	rival.Message, late.Message = "written by the rival", "written late"
	w.must(w.store.Save(t.Context(), rival))
	w.must(w.client.Delete(t.Context(), secret))
	if err := w.store.Save(t.Context(), late); !errors.Is(err, ErrOutdated) {
		t.Errorf("want ErrOutdated, got %v", err)
	}
	w.equal("record", rival, w.get("demo"))
	rival.Message = "written once more"
	w.must(w.store.Save(t.Context(), rival))
	w.equal("record that is being deleted", rival, w.get("demo"))
}
