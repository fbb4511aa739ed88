// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestDeath lets the process die after each write of each operation.
func TestDeath(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		// before is what there is when the operation begins.
		before func(w *world)
		// operation returns the release as it is when the operation succeeds.
		operation func(w *world, store *Store, release *Release) (*Release, error)
		// partial reports whether the release, neither as before nor as after, is what may be found in between.
		partial func(release *Release) bool
	}{
		{
			reason: "create",
			operation: func(w *world, store *Store, _ *Release) (*Release, error) {
				release := w.newRelease("demo")
				return release, store.AddRevision(w.Context(), release, firstRevision(), content(10, "a"))
			},
			partial: func(release *Release) bool { return len(release.Revisions) == 0 && release.State == StateApplying },
		}, {
			reason: "add a revision",
			before: func(w *world) { w.create("demo") },
			operation: func(w *world, store *Store, release *Release) (*Release, error) {
				return release, store.AddRevision(w.Context(), release, Revision{Description: "second"}, content(11, "a"))
			},
		}, {
			reason: "save an inventory that goes into chunks",
			before: func(w *world) { w.create("demo") },
			operation: func(w *world, store *Store, release *Release) (*Release, error) {
				release.Inventory, release.HookInventory = items(60, "a"), items(30, "h")
				release.TestInventory = items(30, "t")
				return release, store.Save(w.Context(), release)
			},
		}, {
			reason: "save another inventory",
			before: func(w *world) { w.createWith(items(60, "a")) },
			operation: func(w *world, store *Store, release *Release) (*Release, error) {
				release.Inventory, release.State = items(60, "b"), StateReady
				return release, store.Save(w.Context(), release)
			},
		}, {
			reason: "prune",
			before: func(w *world) {
				w.must(w.store.AddRevision(w.Context(), w.create("demo"), Revision{}, content(10, "b")))
			},
			operation: func(w *world, store *Store, release *Release) (*Release, error) {
				release.Prune(1, 0)
				return release, store.Save(w.Context(), release)
			},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for survived, done := 0, false; !done; survived++ {
				w.forget()
				var before *Release
				if test.before != nil {
					test.before(w)
					before = w.get("demo")
				}
				clnt, left := dying(t, survived)
				var release *Release
				if before != nil {
					release = before.Clone()
				}
				after, err := test.operation(w, smallStore(clnt), release)
				if done = left.Load() >= 0; done {
					w.must(err)
				}
				w.expectOneOf(before, after, err, test.partial)
				if t.Failed() {
					t.Fatalf("after %d writes", survived)
				}
				w.recover()
			}
		})
	}
}

// createWith creates a release that has an inventory.
func (w *world) createWith(inventory []*reconciler.InventoryItem) {
	w.Helper()
	release := w.create("demo")
	release.Inventory = inventory
	w.must(w.store.Save(w.Context(), release))
}

// expectOneOf checks that the record is what it was before or what it was to become, that it is the latter if that was
// said, and that everything can be read to which it refers.
func (w *world) expectOneOf(before, after *Release, err error, partial func(*Release) bool) {
	w.Helper()
	found, getErr := w.store.Get(w.Context(), w.namespace, "demo")
	switch {
	case errors.Is(getErr, ErrNotFound) && before == nil && err != nil:
		return
	case getErr != nil:
		w.Fatal(getErr)
	case err == nil || before == nil && !partial(found):
		w.equal("record", after, found)
	case before != nil && bytes.Equal(found.stored.raw, before.stored.raw):
		// The finalizer may have been put on already.
		w.equal("record", before, found)
	case before != nil:
		found.Updated, found.Since = after.Updated, after.Since
		w.equal("record", after, found)
	}
	for _, revision := range found.Revisions {
		if _, err := w.store.Content(w.Context(), found, revision.Number); err != nil {
			w.Error(err)
		}
	}
}

// recover does what the next process does: it goes on, and leaves nothing over.
func (w *world) recover() {
	w.Helper()
	release, err := w.store.Get(w.Context(), w.namespace, "demo")
	if errors.Is(err, ErrNotFound) {
		release, err = w.newRelease("demo"), nil
	}
	w.must(err)
	w.must(w.store.AddRevision(w.Context(), release, Revision{}, content(5, "r")))
	w.expectContent(release, release.Current().Number, content(5, "r"))
	w.expectNoWaste(release)
}

// forget removes the release of an earlier round.
func (w *world) forget() {
	w.Helper()
	release, err := w.store.Get(w.Context(), w.namespace, "demo")
	if errors.Is(err, ErrNotFound) {
		return
	}
	w.must(err)
	release.Inventory, release.HookInventory, release.TestInventory = nil, nil, nil
	w.must(w.store.Remove(w.Context(), release))
}

// TestDeathWhileRemoving lets the process die after each write of a removal.
func TestDeathWhileRemoving(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for survived, done := 0, false; !done; survived++ {
		release := w.createHooked()
		release.State = StateDeleting
		clnt, left := dying(t, survived)
		err := smallStore(clnt).Remove(t.Context(), release)
		if done = left.Load() >= 0; done {
			w.must(err)
		}
		found, err := w.store.Get(t.Context(), w.namespace, "demo")
		if errors.Is(err, ErrNotFound) {
			if left := w.secrets(); len(left) > 0 {
				t.Fatalf("after %d writes: want the index to go last, left are %v", survived, left)
			}
			continue
		}
		w.must(err)
		if left := len(w.secrets("clm.demo")); left > 0 && !slices.Contains(found.stored.finalizers, finalizer) {
			t.Fatalf("after %d writes: want the index to be held as long as there are chunks, there are %d", survived, left)
		}
		w.must(w.store.Remove(t.Context(), found))
		if left := w.secrets(); len(left) > 0 {
			t.Fatalf("after %d writes: left are %v", survived, left)
		}
	}
}
