// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

const released = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/delete-policy: POLICY}}\n---\n" + remaining

const remaining = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"

// TestDeathWhileReleasing ends the process before and after it has orphaned an object that was removed from the manifests. A
// later deletion of the owner must not delete the object, which may belong to others already.
func TestDeathWhileReleasing(t *testing.T) {
	t.Parallel()
	for survived := range 2 {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(released, "POLICY", "orphan-on-apply"))
			mortal := w.mortal(survived)
			if _, err := mortal.engine.Apply(t.Context(), mortal.request(remaining)); (err == nil) != (survived == 1) {
				t.Fatalf("expected to die before the release only, got %v", err)
			}
			w.mustDelete()
			if w.configMap("a") == nil {
				t.Error("an object to be orphaned was deleted")
			}
		})
	}
}

// TestDeathWhileReleasingWithTheOwner ends the process before and after it has orphaned an object because the owner is deleted. A
// later apply without the object, as clm allows, must not delete it.
func TestDeathWhileReleasingWithTheOwner(t *testing.T) {
	t.Parallel()
	for survived := range 2 {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(released, "POLICY", "orphan-on-delete"))
			mortal := w.mortal(survived)
			// One by one: b goes after a.
			if _, err := mortal.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: mortal.owner}); err == nil {
				t.Fatal("expected to die")
			}
			w.mustApply(remaining)
			if w.configMap("a") == nil {
				t.Error("an object to be orphaned was deleted")
			}
		})
	}
}

// TestTakenWhileItIsPlanned has another owner take an object that is going to be deleted, and has a plan read it. The delete must read it again: only its annotation says that it is not
// ours any more.
func TestTakenWhileItIsPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(strings.ReplaceAll(released, "POLICY", "delete"))
	w.steady.steady()
	defer w.steady.release()
	request := reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, remaining), Digest: w.digest, Policies: w.policies}
	if _, err := w.engine.Plan(t.Context(), request, reconciler.PlanOptions{}); err != nil {
		t.Fatal(err)
	}
	w.patch(w.configMap("a"), `{"metadata":{"labels":{"PREFIX/owner-id":null},"annotations":{"PREFIX/owner-id":"theirs"}}}`)
	if _, err := w.planner.Plan(t.Context(), request, reconciler.PlanOptions{Compare: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Apply(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if w.configMap("a") == nil {
		t.Error("an object of another owner was deleted")
	}
}

// TestVanishedObjectIsJudgedAsSuch deletes the owner while a redundant object still exists, because others are not ready yet. The
// delete policy counts for an object that was removed from the manifests, not for one whose owner is deleted.
func TestVanishedObjectIsJudgedAsSuch(t *testing.T) {
	t.Parallel()
	for policy, stays := range map[string]bool{"delete": false, "orphan": true, "orphan-on-apply": true, "orphan-on-delete": false} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(released, "POLICY", policy))
			result, err := w.apply(remaining + "---\n" + strings.ReplaceAll(unready, "name: a", "name: c"))
			if err != nil || result.Done {
				t.Fatalf("expected to wait for another object, got %v", err)
			}
			if w.configMap("a") == nil {
				t.Fatal("what vanished goes when all others are ready")
			}
			w.mustDelete()
			if there := w.configMap("a") != nil; there != stays {
				t.Errorf("expected it to stay: %v; it is there: %v", stays, there)
			}
		})
	}
}

// TestVanishedObjectThatIsWantedAgain puts an object back into the manifests; then the policy of its manifest counts.
func TestVanishedObjectThatIsWantedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := strings.ReplaceAll(released, "POLICY", "orphan-on-delete")
	w.mustApply(manifests)
	if _, err := w.apply(remaining + "---\n" + strings.ReplaceAll(unready, "name: a", "name: c")); err != nil {
		t.Fatal(err)
	}
	w.mustApply(manifests)
	w.mustDelete()
	if w.configMap("a") == nil {
		t.Error("its policy is to stay when the owner goes")
	}
}

// TestReleasesAreRecordedOnce counts the saves.
func TestReleasesAreRecordedOnce(t *testing.T) {
	t.Parallel()
	for policy, saves := range map[string]int{"orphan-on-apply": 1, "orphan": 0, "delete": 0} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(released, "POLICY", policy))
			before := w.saves
			w.mustApply(remaining)
			if got := w.saves - before; got != saves {
				t.Errorf("expected %d saves besides the one of the caller, got %d", saves, got)
			}
		})
	}
}

// mortal returns another process at work for the same owner, which dies after the given number of writes. What it saves is recorded.
func (w *world) mortal(survived int) *world {
	w.Helper()
	mortal := newWorld(w, func(s *setup) { s.config = dying(s.config, survived) }, withOptions(func(o *reconciler.Options) { o.MaxConcurrency = 1 }))
	mortal.owner, mortal.namespace = w.owner, w.namespace
	mortal.owner.Store = w
	return mortal
}
