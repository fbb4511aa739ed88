// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/testenv"
)

const database = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {PREFIX/update-policy: recreate}}
spec:
  serviceName: SERVICE
  replicas: 1
  persistentVolumeClaimRetentionPolicy: {whenDeleted: DELETED, whenScaled: Retain}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: db, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

const ownsData = ": cannot be recreated, because it holds the data of "

// TestStatefulSetIsNotRecreatedWithItsClaims runs the real controllers: the StatefulSet controller becomes the owner of the
// claims, and garbage collection would delete them.
func TestStatefulSetIsNotRecreatedWithItsClaims(t *testing.T) {
	t.Parallel()
	manifest := strings.ReplaceAll(database, "DELETED", "Delete")
	changed := strings.ReplaceAll(manifest, "SERVICE", "two")
	for name, adopted := range map[string]bool{"Own": false, "Adopted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := strings.ReplaceAll(manifest, "SERVICE", "one")
			if adopted {
				w.create(before)
			} else if _, err := w.apply(before); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, func() (bool, string) {
				claim := w.get("v1", "PersistentVolumeClaim", "data-db-0")
				return claim != nil && len(claim.GetOwnerReferences()) == 1, "the controller has not made the claim its own"
			})
			w.bind("data-db-0")
			uid := w.get("v1", "PersistentVolumeClaim", "data-db-0").GetUID()
			const want = "StatefulSet NS/db" + ownsData + "PersistentVolumeClaim NS/data-db-0, which would be destroyed; use another update policy, remove the annotation recreate-if-immutable, or first set spec.persistentVolumeClaimRetentionPolicy.whenDeleted"
			_, err := w.engine.Apply(t.Context(), w.request(changed))
			w.expectRefusal(err, want)
			if change := w.plan(changed, compare).Changes[0]; !change.Recreate || !strings.HasPrefix(change.Object.String()+": "+change.Refusal, w.expand(want)) {
				t.Errorf("planned: %v, refusal: %q", change.Recreate, change.Refusal)
			}
			w.patch(w.get("apps/v1", "StatefulSet", "db"), `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`)
			testenv.Eventually(t, func() (bool, string) {
				_, err := w.engine.Apply(t.Context(), w.request(changed))
				live := w.get("apps/v1", "StatefulSet", "db")
				if live == nil {
					return false, fmt.Sprint(err)
				}
				service, _, _ := unstructured.NestedString(live.Object, "spec", "serviceName")
				return service == "two", fmt.Sprint(err)
			})
			if claim := w.get("v1", "PersistentVolumeClaim", "data-db-0"); claim == nil || claim.GetUID() != uid || claim.GetDeletionTimestamp() != nil {
				t.Error("the claim with the data is gone")
			}
		})
	}
}

// TestOwnersOfClaimsAreNotRecreated has claims that are owned in all possible ways.
func TestOwnersOfClaimsAreNotRecreated(t *testing.T) {
	t.Parallel()
	const owned = "ownerReferences: [{apiVersion: API, kind: KIND, name: a, uid: UID}]"
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, OWNERS}\nspec: {VOLUME, storageClassName: \"\", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	const between = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: between, ownerReferences: [{apiVersion: API, kind: KIND, name: a, uid: UID}]}\n"
	const widgets, configMaps = "apiVersion: GROUP/v1\nkind: Widget\nmetadata: {name: a, annotations: {PREFIX/update-policy: recreate}}\nspec: {size: VALUE}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/update-policy: recreate}}\ndata: {value: \"VALUE\"}\n"
	empty := strings.NewReplacer("name: db", "name: a", "replicas: 1", "replicas: 0", "SERVICE", "sVALUE").Replace(database)
	bound := strings.ReplaceAll(claim, "VOLUME", "volumeName: none")
	direct := strings.ReplaceAll(bound, "OWNERS", owned)
	indirect := strings.ReplaceAll(bound, "OWNERS", "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: between, uid: BETWEEN}]")
	ephemeral := strings.ReplaceAll(bound, "OWNERS", "ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: BETWEEN, controller: true}]")
	const none = ""
	for name, tc := range map[string]struct {
		manifest, between, claim string
		denied                   string // a path that must not be requested
		want                     string // empty if it is recreated
	}{
		"Direct":              {widgets, none, direct, none, ownsData + "PersistentVolumeClaim NS/data, which would be destroyed; use another update policy, remove the annotation recreate-if-immutable, or remove its owner references from the claims"},
		"Unbound":             {widgets, none, strings.ReplaceAll(strings.ReplaceAll(claim, "VOLUME, ", ""), "OWNERS", owned), none, none},
		"Unowned":             {widgets, none, strings.ReplaceAll(bound, ", OWNERS", ""), none, none},
		"Indirect":            {widgets, between, indirect, none, ownsData + "PersistentVolumeClaim NS/data"},
		"OthersAndIndirect":   {widgets, strings.Split(between, ", ownerRef")[0] + "}\n", indirect, none, none},
		"Ephemeral":           {widgets, strings.ReplaceAll(strings.ReplaceAll(between, "name: between", "name: a"), "ConfigMap", "Pod\nspec: {containers: [{name: c, image: c}]}"), ephemeral, none, none},
		"BuiltIn":             {configMaps, none, direct, none, ownsData + "PersistentVolumeClaim NS/data"},
		"ClaimsMustNotBeRead": {widgets, none, direct, "/persistentvolumeclaims", ": cannot be recreated, because it may own claims whose data would be destroyed, and reading PersistentVolumeClaims in namespace NS is forbidden; use another update policy, remove the annotation recreate-if-immutable, or grant the permission"},
		"OwnersMustNotBeRead": {widgets, between, indirect, "/configmaps/between", ": cannot be recreated, because it may own claims whose data would be destroyed, and reading ConfigMap NS/between is forbidden"},
		"BuiltInMustNotRead":  {configMaps, none, none, "/persistentvolumeclaims", none},
		"StatefulSetDeletes":  {strings.ReplaceAll(empty, "DELETED", "Delete"), none, none, "/persistentvolumeclaims", ": cannot be recreated, because it may own claims whose data would be destroyed, and reading PersistentVolumeClaims in namespace NS is forbidden"},
		"StatefulSetRetains":  {strings.ReplaceAll(empty, "DELETED", "Retain"), none, none, "/persistentvolumeclaims", none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []option
			if tc.denied != "" {
				options = append(options, answering(tc.denied, http.StatusForbidden, metav1.StatusReasonForbidden))
			}
			ty := newTyped(t, options...)
			object := testenv.Objects(t, ty.expand(ty.world.expand(tc.manifest)))[0]
			api, kind := object.GetAPIVersion(), object.GetKind()
			if kind == "Widget" {
				ty.create(ty.expand(customType))
			}
			ty.applyUntilDone(ty.expand(strings.ReplaceAll(tc.manifest, "VALUE", "1")))
			uid := string(ty.get(api, kind, "a").GetUID())
			references := strings.NewReplacer("API", api, "KIND", kind, "UID", uid)
			via := ""
			if tc.between != "" {
				ty.create(references.Replace(tc.between))
				via = ty.uidOf(tc.between)
			}
			if tc.claim != "" {
				ty.create(strings.ReplaceAll(references.Replace(tc.claim), "BETWEEN", via))
			}
			changed := ty.expand(strings.ReplaceAll(tc.manifest, "VALUE", "2"))
			if tc.want == "" {
				ty.applyUntilDone(changed)
			} else {
				_, err := ty.engine.Apply(t.Context(), ty.request(changed))
				ty.expectRefusal(err, tc.want)
			}
			if anew := string(ty.get(api, kind, "a").GetUID()) != uid; anew != (tc.want == "") {
				t.Errorf("recreated: %v", anew)
			}
		})
	}
}

// TestRecreationLooksForClaimsOnce counts the requests of a recreation.
func TestRecreationLooksForClaimsOnce(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/update-policy: recreate}}\ndata: {value: VALUE}\n"
	w := newWorld(t)
	w.mustApply(strings.ReplaceAll(manifest, "VALUE", "a"))
	w.requests.Reset()
	if _, err := w.engine.Apply(t.Context(), w.request(strings.ReplaceAll(manifest, "VALUE", "b"))); err != nil {
		t.Fatal(err)
	}
	reads := w.requests.Count(func(r testenv.Request) bool { return !r.IsWrite() && !r.IsWatch() && !isDiscovery(r) })
	if writes := w.writes(); len(writes) != 3 || reads != 1 {
		t.Errorf("expected a dry run of the creation, a list, a deletion and a creation, got:\n%s", w.requests)
	}
}

// applyUntilDone makes passes, without plans, until the result is done. New types become known only after a while.
func (w *world) applyUntilDone(manifests string) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		result, err := w.engine.Apply(w.Context(), w.request(manifests))
		w.owner.Inventory = result.Inventory
		return err == nil && result.Done, fmt.Sprint(err, notices(result.Waits))
	})
}

// bind does what the controller of volumes does for a claim, without a volume.
func (w *world) bind(name string) {
	w.Helper()
	w.patch(w.get("v1", "PersistentVolumeClaim", name), `{"spec":{"volumeName":"none"}}`)
}
