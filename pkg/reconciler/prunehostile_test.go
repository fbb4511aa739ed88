// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestPruneAtWavesKeepsAliases: an object whose manifest moves to another API group is not deleted between the waves.
func TestPruneAtWavesKeepsAliases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.PruneAt = reconciler.PruneAtWaves
	w.mustApply(coreEvent)
	uid := w.get("v1", "Event", "a").GetUID()
	w.mustApply(groupEvent)
	if live := w.get("events.k8s.io/v1", "Event", "a"); live == nil || live.GetUID() != uid {
		t.Error("the object was deleted")
	}
}

// TestPrunePolicyThatIsNotAppliedYet: the policy that was applied last counts.
func TestPrunePolicyThatIsNotAppliedYet(t *testing.T) {
	t.Parallel()
	for _, applied := range []string{"keep", "confirm"} {
		t.Run(applied, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			late := func(policy string) string {
				return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, annotations: {PREFIX/apply-order: \"5\", PREFIX/prune-policy: " + policy + "}}\n"
			}
			w.mustApply(late(applied))
			for range 2 {
				if result, err := w.apply(unready + late("delete")); err != nil || result.Done {
					t.Fatal(err, result.Done)
				}
			}
			if got := w.configMap("late").GetAnnotations()[prefix+"/prune-policy"]; got != applied {
				t.Fatal("it was applied")
			}
			for range 3 {
				if _, err := w.apply(""); err != nil {
					t.Fatal(err)
				}
			}
			if w.configMap("late") == nil {
				t.Error("it was deleted although the policy that was applied last is " + applied)
			}
		})
	}
}

// TestDeathWhileThePrunePolicyChanges: the process dies after it has applied keep, and before it recorded that.
func TestDeathWhileThePrunePolicyChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withPrunePolicy("a", "delete"))
	mortal := w.mortal(1)
	// Its result is not recorded.
	if _, err := mortal.engine.Apply(t.Context(), mortal.request(withPrunePolicy("a", "keep"))); err != nil {
		t.Fatal(err)
	}
	if got := w.configMap("a").GetAnnotations()[prefix+"/prune-policy"]; got != "keep" {
		t.Fatal("not applied", got)
	}
	heir := w.heir()
	if _, err := heir.apply(""); err != nil {
		t.Fatal(err)
	}
	if w.configMap("a") == nil {
		t.Error("it was deleted although keep was applied last")
	}
}

// TestLostPrunePoliciesWithoutWatches: the digest is known nevertheless.
func TestLostPrunePoliciesWithoutWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutObserver)
	w.mustApply(withPrunePolicy("a", "confirm"))
	w.owner.Inventory[0].PrunePolicy = ""
	result, err := w.apply("")
	if err != nil {
		t.Fatal(err)
	}
	if w.configMap("a") == nil {
		t.Fatal("deleted")
	}
	if result.Held == nil {
		t.Errorf("nothing tells how to approve: %s", notices(result.Waits))
	}
}

// TestAllButOneWithKept: a generator that suddenly renders nothing does not empty a cluster, although one object is kept.
func TestAllButOneWithKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deletions.Max = reconciler.MaxDeletionsAllButOne
	w.mustApply(withPrunePolicy("a", "keep") + configMapsNamed("b", "c", "d"))
	w.mustApply(configMapsNamed("b", "c", "d"))
	w.expectInventory("ConfigMap a Kept Current", "ConfigMap b Ready Current", "ConfigMap c Ready Current", "ConfigMap d Ready Current")
	result, err := w.apply("")
	if err != nil {
		t.Fatal(err)
	}
	if result.Held == nil {
		t.Errorf("all declared dependents are deleted: %v", actions(result))
	}
}

// TestKeptOfAnotherOwner: a kept object that another owner adopts is no longer a dependent.
func TestKeptOfAnotherOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withPrunePolicy("a", "keep") + configMapsNamed("b"))
	w.mustApply(configMapsNamed("b"))
	w.patch(w.configMap("a"), `{"metadata":{"labels":{"PREFIX/owner-id":"other"},"annotations":{"PREFIX/owner-id":"other"}}}`)
	w.settle(configMapsNamed("b"), func(reconciler.Result) (bool, string) { return len(w.owner.Inventory) == 1, "a is still recorded" })
	w.mustDelete()
	if w.configMap("a") == nil {
		t.Error("deleted")
	}
}

// TestKeptRecreated: a kept object that others delete, and create anew, is theirs.
func TestKeptRecreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withPrunePolicy("a", "keep") + configMapsNamed("b"))
	w.mustApply(configMapsNamed("b"))
	w.remove(w.configMap("a"))
	w.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mine: x}}")
	w.settle(configMapsNamed("b"), func(reconciler.Result) (bool, string) { return len(w.owner.Inventory) == 1, "a is still recorded" })
	w.mustDelete()
	if w.configMap("a") == nil {
		t.Error("deleted")
	}
}

// TestDeathBetweenPrunedWaves ends the process at each write of a pass that deletes with approval. The next one finishes it.
func TestDeathBetweenPrunedWaves(t *testing.T) {
	t.Parallel()
	for survived := range 3 {
		w := newWorld(t)
		w.policies.PruneAt = reconciler.PruneAtWaves
		w.mustApply(withPrunePolicy("a", "confirm") + inWaves("drop", 0, -1) + configMapsNamed("b"))
		result := w.settle(configMapsNamed("b"), heldBack)
		digest := result.Held.Digest
		mortal := w.mortal(survived)
		request := mortal.request(configMapsNamed("b") + inWaves("new", 2, 0))
		request.Policies, request.Deletions.Approved = w.policies, digest
		if _, err := mortal.engine.Apply(t.Context(), request); err == nil && survived < 2 {
			t.Fatal("expected to die")
		}
		heir := w.heir()
		heir.policies.PruneAt = reconciler.PruneAtWaves
		heir.deletions.Approved = digest
		heir.mustApply(configMapsNamed("b") + inWaves("new", 2, 0))
		heir.expectInventory("ConfigMap b Ready Current", "ConfigMap new Ready Current")
		if w.configMap("a") != nil || w.configMap("new") == nil {
			t.Errorf("after %d writes: want a to be deleted, and new to be created", survived)
		}
	}
}

// TestPruneAtWavesAndANamespaceThatStays: a redundant namespace with an object that stays does not hold back waves.
func TestPruneAtWavesAndANamespaceThatStays(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"keep", "confirm"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.policies.PruneAt = reconciler.PruneAtWaves
			w.mustApply(ownNamespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS-own, annotations: {PREFIX/prune-policy: " + policy + "}}\n")
			w.settle(configMapsNamed("new"), func(r reconciler.Result) (bool, string) { return w.configMap("new") != nil, notices(r.Waits) })
			w.mustDelete()
		})
	}
}

// refusingSome answers requests with a status instead of sending them.
func refusingSome(code int, concerns func(*http.Request) bool) option {
	return func(s *setup) {
		s.config = rest.CopyConfig(s.config)
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
				if !concerns(request) {
					return next.RoundTrip(request)
				}
				reason := map[int]string{403: "Forbidden", 500: "InternalError"}[code]
				body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":%q,"code":%d}`, reason, code)
				return &http.Response{
					StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request,
				}, nil
			})
		})
	}
}

// TestKeptOnce: an object that is applied once, and kept, is not applied again when it is declared again.
func TestKeptOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	once := func(value string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/prune-policy: keep, PREFIX/reconcile-policy: once}}\ndata: {password: " + value + "}\n"
	}
	w.mustApply(once("first"))
	w.mustApply(once("second"))
	w.mustApply("")
	w.mustApply(once("third"))
	if diff := diffData(map[string]any{"password": "first"}, w.configMap("a")); diff != "" {
		t.Errorf("it was applied again:\n%s", diff)
	}
}

// TestKeptThatCannotBeRead: nothing is to be done about a kept object, so that rights for its kind are not needed any more.
func TestKeptThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply("---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, annotations: {PREFIX/prune-policy: keep}}\n" + configMapsNamed("b"))
	w.mustApply(configMapsNamed("b"))
	heir := w.heir(refusingSome(403, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/serviceaccounts") }))
	result, err := heir.apply(configMapsNamed("b"))
	if err != nil || !result.Done {
		t.Errorf("%v, done %v, %s", err, result.Done, notices(result.Waits))
	}
}

// TestHeldAliasBetweenWaves: an object whose manifest moves to another group does not count as a deletion.
func TestHeldAliasBetweenWaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policies.PruneAt, w.deletions.Max = reconciler.PruneAtWaves, "0"
	w.mustApply(coreEvent)
	result, err := w.apply(groupEvent)
	if err != nil || result.Held != nil {
		t.Errorf("%v, %v", err, result.Held)
	}
}

// TestHeldObjectKeepsItsPolicyUntilItIsWritten: an object that is held, and declared with another policy that the server refuses, still needs approval.
func TestHeldObjectKeepsItsPolicyUntilItIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withPrunePolicy("a", "confirm"))
	w.settle("", heldBack)
	refused := strings.Replace(withPrunePolicy("a", "delete"), "data: {value: a}", "data: {\"not a key\": a}", 1)
	if _, err := w.apply(refused); err == nil {
		t.Fatal("expected the manifest to be refused")
	}
	w.expectHeld(w.settle("", heldBack), 1, 0, "a")
}

// TestRetainedNamespaceStaysAsRecorded: a pass that stops early does not record that a kept namespace is being deleted.
func TestRetainedNamespaceStaysAsRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(withinOwn("keep"))
	w.mustApply("")
	if result, err := w.apply(unready); err != nil || result.Done {
		t.Fatal(err, result.Done)
	}
	if inventory := strings.Join(w.inventory(), ", "); !strings.Contains(inventory, "Namespace NS-own Kept") {
		t.Errorf("want the namespace to stay recorded as kept, got %s", inventory)
	}
}
