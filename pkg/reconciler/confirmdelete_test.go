// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// withDeletePolicy returns the manifest of a ConfigMap with a delete policy.
func withDeletePolicy(name, policy string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {PREFIX/delete-policy: " + policy + "}}\n"
}

// expectHeldDeletion expects the deletion of the owner to do nothing, because of these objects, and returns their digest.
func (w *world) expectHeldDeletion(dependents int, names ...string) string {
	w.Helper()
	before := w.inventory()
	w.requests.Reset()
	result, err := w.delete()
	if err != nil || len(result.Actions) > 0 {
		w.Fatalf("expected nothing to be done, got %v, %v", actions(result), err)
	}
	digest := w.expectHeld(result, dependents, 0, names...)
	if writes := w.writes(); len(writes) > 0 {
		w.Errorf("expected no writes, got %v", writes)
	}
	w.expectInventory(before...)
	want := fmt.Sprintf("%d of %d dependents may be deleted only with approval", len(names), dependents)
	if got := result.Held.String(); got != want || !result.Held.OwnerDeleted {
		w.Errorf("got %q", got)
	}
	held, err := w.engine.HeldDeletion(w.Context(), reconciler.DeleteRequest{Owner: w.owner})
	if err != nil || held == nil || held.Digest != digest {
		w.Errorf("expected the same to be held in advance, got %v, %v", held, err)
	}
	return digest
}

// TestDeletionsWithTheOwnerAreHeld deletes nothing until exactly what demands approval is approved. Whether an object is removed from the manifests is another matter.
func TestDeletionsWithTheOwnerAreHeld(t *testing.T) {
	t.Parallel()
	for reason, policy := range map[string]reconciler.DeletePolicy{"annotation": "", "owner": reconciler.DeletePolicyConfirmOnDelete} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.policies.Delete = policy
			data := withDeletePolicy("data", "confirm-on-delete")
			if policy != "" {
				data = configMapsNamed("data")
			}
			others := withDeletePolicy("other", "delete") + withDeletePolicy("kept", "orphan-on-delete")
			w.mustApply(data + others + withDeletePolicy("gone", "confirm-on-delete"))
			w.expectActions(w.mustApply(data+others), "Deleted ConfigMap gone")
			digest := w.expectHeldDeletion(3, "data")
			w = w.restart()
			w.expectHeldDeletion(3, "data")
			w.deletions.Approved = "other"
			w.expectHeldDeletion(3, "data")
			w.deletions.Approved = digest
			w.mustDelete()
			if w.configMap("data") != nil || w.configMap("other") != nil || w.configMap("kept") == nil {
				t.Error("expected all to be deleted but what is orphaned")
			}
		})
	}
}

// TestApprovedDeletionGoesOn ends the process at each request of an approved deletion. The next one needs no approval, because it is recorded before the first deletion.
func TestApprovedDeletionGoesOn(t *testing.T) {
	t.Parallel()
	manifests := withDeletePolicy("a", "confirm-on-delete") + withDeletePolicy("b", "confirm-on-delete") + configMapsNamed("c")
	for survived := range 4 {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(manifests)
			digest := w.expectHeldDeletion(3, "a", "b")
			mortal := w.mortal(survived)
			result, err := mortal.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: mortal.owner, Approved: digest})
			if (err != nil) != (survived < 3) {
				t.Fatalf("expected to die early, got %+v, %v", actions(result), err)
			}
			w = w.restart()
			w.mustDelete()
			for _, name := range []string{"a", "b", "c"} {
				if w.configMap(name) != nil {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

// TestUnsavedApproval: what was not recorded as approved is not deleted.
func TestUnsavedApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withDeletePolicy("a", "confirm-on-delete"))
	owner := w.owner
	owner.Store = unsaved{}
	digest := w.expectHeldDeletion(1, "a")
	if _, err := w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: owner, Approved: digest}); err == nil || w.configMap("a") == nil {
		t.Errorf("expected an error before the deletion, got %v", err)
	}
	w.expectHeldDeletion(1, "a")
	result, err := w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: w.owner, Unasked: true})
	if err != nil || !strings.HasPrefix(strings.Join(actions(result), ""), "Deleted") {
		t.Errorf("expected a caller that has asked already to be obeyed, got %v, %v", actions(result), err)
	}
}

// TestHeldObjectsThatAreNotWanted: an object that is redundant, and held or kept, needs approval when the owner is deleted, too. The approval of one deletion counts for
// the other.
func TestHeldObjectsThatAreNotWanted(t *testing.T) {
	t.Parallel()
	manifest := strings.NewReplacer("delete-policy: confirm-on-delete}", "delete-policy: confirm-on-delete, PREFIX/prune-policy: POLICY}").Replace(withDeletePolicy("a", "confirm-on-delete"))
	for _, policy := range []string{"confirm", "keep"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(manifest, "POLICY", policy) + configMapsNamed("b"))
			w.settle(configMapsNamed("b"), func(result reconciler.Result) (bool, string) {
				return (result.Held != nil) == (policy == "confirm"), notices(result.Waits)
			})
			w.expectHeldDeletion(2, "a")
			w = w.restart()
			digest := w.expectHeldDeletion(2, "a")
			if policy == "confirm" {
				request := w.request(configMapsNamed("b"))
				request.Deletions.Approved = w.expectHeld(w.settle(configMapsNamed("b"), heldBack), 2, 0, "a")
				if request.Deletions.Approved != digest {
					t.Errorf("the same object has two digests: %s and %s", request.Deletions.Approved, digest)
				}
			}
			w.deletions.Approved = digest
			w.mustDelete()
		})
	}
}

// TestObjectsThatWereNeverCreatedNeedNoApproval has an object in a later wave that is never reached. If it was created and that is not recorded, it needs approval.
func TestObjectsThatWereNeverCreatedNeedNoApproval(t *testing.T) {
	t.Parallel()
	late := strings.ReplaceAll(deletePolicied, "POLICY", "confirm-on-delete")
	for _, created := range []bool{false, true} {
		t.Run(fmt.Sprint(created), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if result, err := w.apply(unready + "---\n" + late); err != nil || result.Done {
				t.Fatalf("expected to wait for another object, got %v", err)
			}
			if created {
				recorded := w.owner.Inventory
				w.mustApply(configMapsNamed("a") + "---\n" + late)
				w.owner.Inventory = recorded
				w.deletions.Approved = w.expectHeldDeletion(2, "late")
			}
			w.mustDelete()
			if w.configMap("late") != nil {
				t.Error("it is left")
			}
		})
	}
}

// TestApprovalDemandedByOnePolicy changes the policy of an object that cannot be written yet. Approval is needed if one of the policies says so.
func TestApprovalDemandedByOnePolicy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		applied, declared string
		held, stays       bool
	}{
		{"confirm-on-delete", "delete", true, false},
		{"delete", "confirm-on-delete", true, false},
		{"confirm-on-delete", "orphan-on-delete", false, true},
		{"orphan-on-apply", "confirm-on-delete", false, true},
		{"confirm-on-delete", "vanished", true, false}, // it was removed from the manifests in between
	} {
		t.Run(tc.applied+"-"+tc.declared, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(deletePolicied, "POLICY", tc.applied))
			if tc.declared == "vanished" {
				if result, err := w.apply(unready); err != nil || result.Done {
					t.Fatalf("expected to wait for another object, got %v", err)
				}
				tc.declared = "delete"
			}
			if result, err := w.apply(unready + "---\n" + strings.ReplaceAll(deletePolicied, "POLICY", tc.declared)); err != nil || result.Done {
				t.Fatalf("expected to wait for another object, got %v", err)
			}
			if tc.held {
				w.deletions.Approved = w.expectHeldDeletion(2, "late")
			}
			w.mustDelete()
			if there := w.configMap("late") != nil; there != tc.stays {
				t.Errorf("expected it to stay: %v; it is there: %v", tc.stays, there)
			}
		})
	}
}

// TestApprovalAfterALoss loses the inventory. The annotations of the objects count, and the policy of the owner.
func TestApprovalAfterALoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := withDeletePolicy("a", "confirm-on-delete") + configMapsNamed("b")
	w.mustApply(manifests)
	w.owner.Inventory = nil
	w.rebuild(reconciler.RebuildRequest{Objects: []client.Object{w.configMap("a")}})
	w.expectHeldDeletion(2, "a")
	w.owner.Inventory = nil
	w.rebuild(reconciler.RebuildRequest{Objects: []client.Object{w.configMap("a")}, Policies: reconciler.Policies{Delete: reconciler.DeletePolicyConfirmOnDelete}})
	w.deletions.Approved = w.expectHeldDeletion(2, "a", "b")
	w.mustDelete()
}

// TestWhatGoesAnywayNeedsNoApproval: an object that is gone, being deleted, or taken over by another owner needs no approval. One that was created again needs another one.
func TestWhatGoesAnywayNeedsNoApproval(t *testing.T) {
	t.Parallel()
	manifests := withDeletePolicy("a", "confirm-on-delete") + withDeletePolicy("b", "confirm-on-delete")
	for reason, change := range map[string]func(w *world){
		"gone": func(w *world) { w.remove(w.configMap("b")) },
		"being deleted": func(w *world) {
			w.patch(w.configMap("b"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
			w.remove(w.configMap("b"))
		},
		"another owner's": func(w *world) {
			other := newWorld(w.TB)
			other.namespace, other.owner.Namespace, other.policies.Adoption = w.namespace, w.namespace, reconciler.AdoptionPolicyAlways
			other.mustApply(withDeletePolicy("b", "delete"))
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(manifests)
			both := w.expectHeldDeletion(2, "a", "b")
			change(w)
			testenv.Eventually(t, func() (bool, string) {
				held, err := w.engine.HeldDeletion(w.Context(), reconciler.DeleteRequest{Owner: w.owner})
				return err == nil && len(held.Objects) == 1, "b still demands approval"
			})
			w.deletions.Approved = both
			w.deletions.Approved = w.expectHeldDeletion(2, "a")
			if reason == "being deleted" {
				w.patch(w.configMap("b"), `{"metadata":{"finalizers":null}}`)
			}
			w.mustDelete()
		})
	}
}

// TestApprovalOfWhatWasReplaced: the approval holds for the objects that are there, not for others with their names, and only for one occasion.
func TestApprovalOfWhatWasReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withDeletePolicy("a", "confirm-on-delete"))
	digest := w.expectHeldDeletion(1, "a")
	replaced := w.configMap("a")
	w.remove(replaced)
	replaced.SetUID("")
	replaced.SetResourceVersion("")
	if err := w.client.Create(t.Context(), replaced); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		held, err := w.engine.HeldDeletion(w.Context(), reconciler.DeleteRequest{Owner: w.owner})
		return err == nil && held != nil && held.Digest != digest, "the replaced object is not seen"
	})
	for _, occasion := range []string{"one", "two"} {
		held, err := w.engine.HeldDeletion(w.Context(), reconciler.DeleteRequest{Owner: w.owner, Occasion: occasion})
		if err != nil || held.Digest == w.deletions.Approved {
			t.Errorf("want a digest for each occasion, got %v, %v", held, err)
		}
		w.deletions.Approved = held.Digest
		w.expectHeldDeletion(1, "a")
	}
}

// TestNothingIsHeldUnseen: if it cannot be seen what would become of the objects, that is an error, not a reason to hold them.
func TestNothingIsHeldUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withDeletePolicy("a", "confirm-on-delete"))
	mortal := newWorld(t, withoutObserver, func(s *setup) { s.config = failingReads(s.config) })
	mortal.owner, mortal.namespace = w.owner, w.namespace
	mortal.owner.Store = w
	result, err := mortal.delete()
	if err == nil || result.Held != nil || !strings.Contains(err.Error(), "finding deletions that need approval: ") {
		t.Errorf("expected an error, got %+v, %v", result.Held, err)
	}
}

// failingReads returns a configuration with which nothing can be read.
func failingReads(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/configmaps/") {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(request)
		})
	})
	return config
}
