// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func configMaps(count, waves int) string {
	var manifests strings.Builder
	for i := range count {
		fmt.Fprintf(&manifests, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, annotations: {PREFIX/apply-order: \"%d\"}}\ndata: {value: \"%d\"}\n", i, i%waves, i)
	}
	return manifests.String()
}

func isDiscovery(request testenv.Request) bool {
	return request.Method == http.MethodGet &&
		(request.Path == "/api" || request.Path == "/apis" || request.Path == "/api/v1" || strings.Count(request.Path, "/") == 3 && strings.HasPrefix(request.Path, "/apis/"))
}

func TestRequestsOfCreation(t *testing.T) {
	t.Parallel()
	const count = 60
	w := newWorld(t)
	w.requests.Reset()
	w.mustApply(configMaps(count, 1))
	writes := w.requests.Count(testenv.Request.IsWrite)
	watches := w.requests.Count(testenv.Request.IsWatch)
	discoveries := w.requests.Count(isDiscovery)
	all := w.requests.Count(func(testenv.Request) bool { return true })
	if writes != count {
		t.Errorf("expected one write for each dependent, got %d", writes)
	}
	if others := all - writes - watches - discoveries; others > 1 {
		t.Errorf("expected at most a LIST besides watch and discovery, got %d:\n%s", others, w.requests)
	}
	if w.saves != 1 {
		t.Errorf("expected one save before the first write, got %d", w.saves)
	}
	w.requests.Reset()
	w.mustApply(configMaps(count, 1))
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got:\n%s", w.requests)
	}
	changed := strings.Replace(configMaps(count, 1), `data: {value: "7"}`, `data: {value: "changed"}`, 1)
	w.expectActions(w.mustApply(changed), "Updated ConfigMap c7")
	if writes := w.writes(); len(writes) != 1 {
		t.Errorf("expected one write, got %v", writes)
	}
	w.requests.Reset()
	w.mustDelete()
	deletions := w.requests.Count(func(r testenv.Request) bool { return r.Method == http.MethodDelete })
	others := w.requests.Count(func(r testenv.Request) bool { return r.Method != http.MethodDelete && !r.IsWatch() })
	if deletions != count || others != 0 {
		t.Errorf("expected %d deletions and nothing else, since the server says that the objects are gone, got:\n%s", count, w.requests)
	}
}

func TestManyWavesInOnePass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	result, err := w.apply(configMaps(60, 10))
	if err != nil || !result.Done {
		t.Fatalf("expected one pass to go through all waves, got %v, %v", notices(result.Waits), err)
	}
}

// failing is a store whose save fails at the given count.
type failing struct {
	*world
	at int
}

func (f *failing) Save(ctx stdcontext.Context, inventory []*reconciler.InventoryItem) error {
	if f.saves++; f.saves == f.at {
		return errors.New("no")
	}
	return f.world.Save(ctx, inventory)
}

func TestNothingIsWrittenThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, manifests := range []string{configMaps(3, 1), "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-own}\n"} {
		w.owner.Store = &failing{world: w, at: w.saves + 1}
		if _, err := w.engine.Apply(t.Context(), w.request(manifests)); err == nil {
			t.Fatal("expected the failure of the store")
		}
		if writes := w.writes(); len(writes) != 0 {
			t.Errorf("expected no writes, got %v", writes)
		}
	}
}

// TestDeathAfterAnyWrite ends the process after each number of writes of a pass. What the pass returns is lost, and the
// next process continues from the last saved inventory. It does not recreate what is as it should be already.
func TestDeathAfterAnyWrite(t *testing.T) {
	t.Parallel()
	apply := func(manifests string) func(*world) error {
		return func(w *world) error {
			_, err := w.engine.Apply(w.Context(), w.request(manifests))
			return err
		}
	}
	then := func(manifests string) func(*world) { return func(w *world) { w.mustApply(manifests) } }
	three := inWaves("a", 0, 1) + inWaves("b", 0, 0) + configMapsNamed("c")
	recreated := strings.Replace(configMapsNamed("a"), "name: a", "name: a, annotations: {PREFIX/update-policy: recreate}", 1)
	deleted, orphaned := withDeletePolicy("a", "delete"), withDeletePolicy("a", "orphan")
	confirmed := withDeletePolicy("a", "confirm-on-delete") + withDeletePolicy("b", "confirm-on-delete") + configMapsNamed("c")
	for name, tc := range map[string]struct {
		before  string
		prepare func(*world)
		act     func(*world) error // by the process that ends
		next    func(*world)       // by the next one
		want    string             // what exists then
	}{
		"Created":   {"", nil, apply(three), then(three), "a b c"},
		"Changed":   {recreated, nil, apply(strings.ReplaceAll(recreated, "value: a", "value: b")), then(strings.ReplaceAll(recreated, "value: a", "value: b")), "a"},
		"Deleted":   {three, nil, deletes, (*world).mustDelete, ""},
		"Redundant": {three, nil, apply(""), then(""), ""},
		"LimitOfDeletions": {
			three + configMapsNamed("stays"), func(w *world) {
				w.deletions.Max = "1"
				w.deletions.Approved = w.expectHeld(w.once(configMapsNamed("stays")), 4, 1, "a", "b", "c")
			}, apply(configMapsNamed("stays")), then(configMapsNamed("stays")), "stays",
		},
		"ApprovedDeletion": {confirmed, nil, func(w *world) error {
			held, err := w.engine.HeldDeletion(w.Context(), reconciler.DeleteRequest{Owner: w.owner})
			if err != nil || held == nil {
				w.Fatal("nothing is held", err)
			}
			_, err = w.engine.Delete(w.Context(), reconciler.DeleteRequest{Owner: w.owner, Approved: held.Digest})
			return err
		}, (*world).mustDelete, ""},
		"Protected":            {deleted, nil, apply(orphaned), (*world).mustDelete, "a"},
		"Unprotected":          {orphaned, nil, apply(deleted), (*world).mustDelete, "a"},
		"Kept":                 {withPrunePolicy("a", "delete"), nil, apply(withPrunePolicy("a", "keep")), then(""), "a"},
		"Orphaned":             {withDeletePolicy("a", "orphan-on-apply") + configMapsNamed("b"), nil, apply(configMapsNamed("b")), (*world).mustDelete, "a"},
		"OrphanedWithItsOwner": {withDeletePolicy("a", "orphan-on-delete") + configMapsNamed("b"), nil, deletes, then(configMapsNamed("b")), "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for survived, isOver := 0, false; !isOver; survived++ {
				w := newWorld(t)
				w.mustApply(tc.before)
				if tc.prepare != nil {
					tc.prepare(w)
				}
				isOver = tc.act(w.mortal(survived)) == nil
				if survived > 10 {
					t.Fatal("the pass does not come to an end")
				}
				before := w.uids()
				successor := w.restart()
				tc.next(successor)
				now := successor.uids()
				if got := strings.Join(slices.Sorted(maps.Keys(now)), " "); got != tc.want {
					t.Errorf("after %d writes: %q exist, want %q", survived, got, tc.want)
				}
				for object, uid := range before {
					if now[object] != "" && now[object] != uid && (isOver || name != "Changed") {
						t.Errorf("after %d writes: %s was recreated", survived, object)
					}
				}
			}
		})
	}
}

func TestWithoutObserver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutObserver)
	w.mustApply(configMaps(3, 2))
	w.patch(w.configMap("c1"), `{"data":{"value":"x"}}`)
	w.remove(w.configMap("c2"))
	w.expectActions(w.mustApply(configMaps(3, 2)), "Corrected ConfigMap c1", "Restored ConfigMap c2")
	w.requests.Reset()
	w.mustApply(configMaps(3, 2))
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("expected only reads, got %v", writes)
	}
	w.mustDelete()
}

// TestDeathWhilePurging ends the process after the first object was purged, and before that is recorded.
func TestDeathWhilePurging(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/purge-order: \"0\"}}\n"
	w := newWorld(t, func(s *setup) { s.config, _ = testenv.Dying(s.config, 2) })
	// The third write never happens; what the pass returns is lost with the process.
	const later = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {PREFIX/apply-order: \"1\"}}\n"
	request := w.request(manifest + later)
	_, err := w.engine.Apply(t.Context(), request)
	if err == nil {
		t.Fatal("expected to die")
	}
	if w.configMap("a") != nil {
		t.Fatal("expected a to be purged")
	}
	successor := w.restart()
	result := successor.mustApply(manifest)
	if verbs := actions(result); slices.Contains(verbs, "Created ConfigMap a") || slices.Contains(verbs, "Corrected ConfigMap a") {
		t.Errorf("what was purged was run again: %v", verbs)
	}
}

// unready is an object that is never ready.
const unready = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/status-hint: conditions=Useful}}\n"

const threeWaves = `
apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {PREFIX/apply-order: "-1"}}
data: {a: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: second}
spec:
  replicas: 2
  selector: {matchLabels: {app: second}}
  template:
    metadata: {labels: {app: second}}
    spec: {containers: [{name: main, image: example.com/none}]}
---
apiVersion: v1
kind: Service
metadata: {name: third, annotations: {PREFIX/apply-order: "1"}}
spec: {selector: {app: second}, ports: [{port: 80}]}
`

func TestWavesFollowReadiness(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	result := w.once(threeWaves)
	w.expectActions(result, "Created ConfigMap first", "Created Deployment second")
	w.expectInventory("Deployment second Creating InProgress", "ConfigMap first Ready Current", "Service third ScheduledForApplication InProgress")
	if result.Done || result.Wave != 0 || len(result.Waits) != 1 {
		t.Errorf("expected to wait for the Deployment of wave 0, got %+v", result)
	}
	result = w.settle(threeWaves, done)
	w.expectActions(result, "Created Service third")
	w.expectInventory("Deployment second Ready Current", "ConfigMap first Ready Current", "Service third Ready Current")
	w.mustDelete()
	if w.configMap("first") != nil {
		t.Error("expected the ConfigMap to be gone")
	}
	w.expectInventory()
}

func TestUnknownFieldsAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	result := w.mustApply("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {colour: blue, ports: [{port: 80, nose: long}]}\n")
	for _, field := range []string{".spec.colour", `.spec.ports[port=80,protocol="TCP"].nose`} {
		if got := notices(result.Notes); !strings.Contains(got, field) {
			t.Errorf("expected %s to be named, got %q", field, got)
		}
	}
	if w.get("v1", "Service", "a") == nil {
		t.Error("expected the Service to exist")
	}
}

func TestClaimThatWaitsForItsConsumerDoesNotHoldTheWave(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NS-class}
provisioner: example.com/none
volumeBindingMode: MODE
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a, annotations: {PREFIX/apply-order: "1"}}
spec: {storageClassName: NS-class, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "2"}}
`
	w := newWorld(t)
	w.rest(strings.ReplaceAll(manifests, "MODE", "WaitForFirstConsumer"))
	w.requests.Reset()
	w.mustApply(strings.ReplaceAll(manifests, "MODE", "WaitForFirstConsumer"))
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got %s", w.requests)
	}
	w.mustDelete()

	w = newWorld(t)
	for range 5 {
		if result := w.once(strings.ReplaceAll(manifests, "MODE", "Immediate")); result.Done || !strings.Contains(notices(result.Waits), "PersistentVolumeClaim a") {
			t.Fatalf("expected to wait for the claim, got %v, %q", result.Done, notices(result.Waits))
		}
	}
	w.mustDelete()
}

// TestTakeoverFromAncestor starts from an object and a record as the predecessor of this SDK leaves them.
func TestTakeoverFromAncestor(t *testing.T) {
	t.Parallel()
	for _, update := range []string{"replace", "recreate", "ssa-override", "ssa-merge"} {
		t.Run(update, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			declared := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/update-policy: " + update + "}}\ndata: {kept: x}\n"
			object := testenv.Objects(t, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS, labels: {PREFIX/owner-id: "+
				manifest.OwnerLabel(w.owner.ID)+"}, annotations: {PREFIX/owner-id: "+w.owner.ID+", PREFIX/digest: abc}}\ndata: {kept: x, dropped: x}\n"))[0]
			if err := w.client.Create(t.Context(), object, client.FieldOwner(prefix)); err != nil {
				t.Fatal(err)
			}
			w.owner.Inventory = []*reconciler.InventoryItem{{
				TypeVersionInfo: reconciler.TypeVersionInfo{Version: "v1", Kind: "ConfigMap"},
				NameInfo:        reconciler.NameInfo{Namespace: w.namespace, Name: "a"},
				AdoptionPolicy:  reconciler.AdoptionPolicyIfUnowned,
				ReconcilePolicy: reconciler.ReconcilePolicyOnObjectChange,
				UpdatePolicy:    reconciler.UpdatePolicyReplace,
				DeletePolicy:    reconciler.DeletePolicyDelete,
				Digest:          "abc",
				Phase:           reconciler.PhaseReady,
				Status:          "Current",
				LastAppliedAt:   &metav1.Time{Time: time.Now()},
			}}
			result := w.mustApply(declared)
			w.expectActions(result, "Updated ConfigMap a")
			after := w.configMap("a")
			if after.GetUID() != object.GetUID() {
				t.Error("a takeover must not recreate anything")
			}
			if diff := diffData(map[string]any{"kept": "x"}, after); diff != "" {
				t.Errorf("what the manifest does not declare any more goes (-want +got):\n%s", diff)
			}
			w.rest(declared)
			w.requests.Reset()
			w.expectActions(w.mustApply(declared))
			if writes := w.writes(); len(writes) > 0 {
				t.Errorf("expected rest, got %v", writes)
			}
		})
	}
}

func TestCompletedRecordOfAncestorIsNotRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owner.Inventory = []*reconciler.InventoryItem{{
		TypeVersionInfo: reconciler.TypeVersionInfo{Version: "v1", Kind: "ConfigMap"},
		NameInfo:        reconciler.NameInfo{Namespace: w.namespace, Name: "a"},
		Digest:          "abc", Phase: reconciler.PhaseCompleted, LastAppliedAt: &metav1.Time{Time: time.Now()},
	}}
	w.expectActions(w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/purge-order: \"0\"}}\n"))
	w.expectInventory("ConfigMap a Completed ")
}
