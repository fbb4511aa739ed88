// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// lostManifest has a dependent for each policy that a rebuilt inventory must know.
const lostManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data: {value: VALUE}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fresh, annotations: {PREFIX/update-policy: recreate, PREFIX/apply-order: "3", PREFIX/delete-order: "2"}}
data: {value: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: once, annotations: {PREFIX/reconcile-policy: once}}
data: {value: a}
---
apiVersion: v1
kind: Secret
metadata: {name: kept, annotations: {PREFIX/delete-policy: orphan, PREFIX/adoption-policy: always}}
`

// describeItems renders what a rebuilt inventory knows of each item.
func describeItems(items []*reconciler.InventoryItem) []string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = fmt.Sprintf("%s %s %s/%s/%s/%s %d %d %s %q", item.Kind, item.Name, item.AdoptionPolicy, item.ReconcilePolicy,
			item.UpdatePolicy, item.DeletePolicy, item.ApplyOrder, item.DeleteOrder, item.Phase, item.UID)
	}
	return lines
}

// rebuild replaces the inventory of the world.
func (w *world) rebuild(request reconciler.RebuildRequest) reconciler.RebuildResult {
	w.Helper()
	request.ID = w.owner.ID
	result, err := w.engine.Rebuild(w.Context(), request)
	if err != nil {
		w.Fatal(err)
	}
	w.owner.Inventory = result.Inventory
	return result
}

func (w *world) uids() map[string]string {
	w.Helper()
	uids := map[string]string{}
	list := &corev1.ConfigMapList{}
	if err := w.client.List(w.Context(), list); err != nil {
		w.Fatal(err)
	}
	for _, item := range list.Items {
		if item.Namespace == w.namespace {
			uids[item.Name] = string(item.UID) + "@" + item.ResourceVersion
		}
	}
	return uids
}

func TestRebuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest)
	before, inventory := w.uids(), w.owner.Inventory
	// What carries the label without the id is not ours.
	w.create(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copy, labels: {PREFIX/owner-id: %s}}\n", digest.OwnerLabel(w.owner.ID)))
	result := w.rebuild(reconciler.RebuildRequest{Objects: objects(w, lostManifest)})
	want := []string{
		`ConfigMap once IfUnowned/Once/Replace/Delete 0 0 Ready ""`,
		`ConfigMap plain IfUnowned/OnObjectChange/Replace/Delete 0 0 Ready ""`,
		`Secret kept Always/OnObjectChange/Replace/Orphan 0 0 Ready ""`,
		`ConfigMap fresh IfUnowned/OnObjectChange/Recreate/Delete 3 2 Ready ""`,
	}
	if diff := cmp.Diff(want, describeItems(result.Inventory)); diff != "" || result.Found != 4 || len(result.Unlisted) > 0 {
		t.Fatalf("%d found, unlisted %v, inventory (-want +got):\n%s", result.Found, result.Unlisted, diff)
	}
	digests := func(items []*reconciler.InventoryItem) (list []string) {
		for _, item := range items {
			list = append(list, item.Digest)
		}
		return list
	}
	if diff := cmp.Diff(digests(inventory), digests(result.Inventory)); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
	// Nothing is recreated, and nothing is changed.
	w.expectActions(w.mustApply(lostManifest))
	after := w.uids()
	delete(after, "copy")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestRebuildNeedsTheID has others change the annotation with the owner's ID on our objects, and leave our label, which copies
// may have, too.
func TestRebuildNeedsTheID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifest := func(name string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n" }
	all := strings.Join([]string{manifest("ours"), manifest("given"), manifest("stripped")}, "---\n")
	w.mustApply(all)
	w.patch(w.configMap("given"), `{"metadata":{"annotations":{"PREFIX/owner-id":"another"}}}`)
	w.patch(w.configMap("stripped"), `{"metadata":{"annotations":{"PREFIX/owner-id":null}}}`)
	w.rebuild(reconciler.RebuildRequest{Objects: objects(w, all)})
	want := []string{`ConfigMap ours IfUnowned/OnObjectChange/Replace/Delete 0 0 Ready ""`}
	if diff := cmp.Diff(want, describeItems(w.owner.Inventory)); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

// TestRebuildDoesNotRecreate has a changed manifest whose update policy is recreate: the object may have been recreated already.
func TestRebuildDoesNotRecreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest)
	uid := w.configMap("fresh").GetUID()
	w.rebuild(reconciler.RebuildRequest{Objects: objects(w, lostManifest)})
	result := w.mustApply(strings.ReplaceAll(lostManifest, "value: a", "value: b"))
	w.expectActions(result, "Updated ConfigMap fresh")
	if w.configMap("fresh").GetUID() != uid {
		t.Error("the object was recreated")
	}
}

func TestRebuildFindsWhatIsNoLongerWanted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest)
	keep := strings.SplitN(lostManifest, "---\n", 2)[0]
	// The type of the Secret is not among the objects any more; it was recorded.
	w.rebuild(reconciler.RebuildRequest{
		Objects: objects(w, keep),
		Types:   []reconciler.TypeVersionInfo{{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"}, {Group: "gone.example.io", Version: "v1", Kind: "Gone"}},
	})
	w.expectActions(w.mustApply(keep), "Deleted ConfigMap fresh", "Deleted ConfigMap once", "Orphaned Secret kept")
	w.rebuild(reconciler.RebuildRequest{Objects: objects(w, keep)})
	w.mustDelete()
	if w.configMap("plain") != nil {
		t.Error("a dependent is left behind")
	}
}

// TestRebuildOverAllTypes knows nothing about the lost types. It finds instances of managed types, and the definitions
// themselves.
func TestRebuildOverAllTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest + "---\n" + `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NS.example.io}
spec:
  group: NS.example.io
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: NS.example.io/v2
kind: Thing
metadata: {name: a}
`)
	// A copy of one of ours, annotations included, as controllers make them.
	yes := true
	copied := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "mirror",
			Labels:          map[string]string{prefix + "/owner-id": digest.OwnerLabel(w.owner.ID)},
			Annotations:     map[string]string{prefix + "/owner-id": w.owner.ID},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "plain", UID: w.configMap("plain").GetUID(), Controller: &yes}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	if err := w.client.Create(w.Context(), copied); err != nil {
		t.Fatal(err)
	}
	result := w.rebuild(reconciler.RebuildRequest{Types: []reconciler.TypeVersionInfo{{Group: "*", Version: "*", Kind: "*"}}})
	w.expectInventory(
		"CustomResourceDefinition things.NS.example.io Ready ", "Thing a Ready ", "ConfigMap once Ready ", "ConfigMap plain Ready ",
		"Secret kept Ready ", "Service web Ready ", "ConfigMap fresh Ready ")
	for _, item := range result.Inventory {
		want := []reconciler.TypeVersionInfo(nil)
		if item.Kind == "CustomResourceDefinition" {
			want = []reconciler.TypeVersionInfo{{Group: w.namespace + ".example.io", Version: "*", Kind: "Thing"}}
		}
		if diff := cmp.Diff(want, item.ManagedTypes); diff != "" {
			t.Errorf("managed types of %s (-want +got):\n%s", item, diff)
		}
	}
	w.mustDelete()
	if w.get("v1", "Service", "web") != nil || w.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.NS.example.io") != nil {
		t.Error("a dependent is left behind")
	}
}

func TestRebuildKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest)
	known := slices.DeleteFunc(slices.Clone(w.owner.Inventory), func(item *reconciler.InventoryItem) bool { return item.Name != "plain" })
	result := w.rebuild(reconciler.RebuildRequest{Known: known, Objects: objects(w, lostManifest)})
	if result.Found != 3 || len(result.Inventory) != 4 || !slices.Contains(result.Inventory, known[0]) {
		t.Errorf("want 3 items besides the known one, got %v", describeItems(result.Inventory))
	}
}

// TestRebuildWithoutPermission has an identity that may only list ConfigMaps in one namespace.
func TestRebuildWithoutPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest)
	user := "restricted-" + w.namespace
	w.create(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, apiGroup: %s, name: %s}]
`, rbacv1.GroupName, user))
	restricted := newWorld(t, withoutObserver, func(s *setup) {
		s.config = rest.CopyConfig(s.config)
		s.config.Impersonate = rest.ImpersonationConfig{UserName: user}
	})
	restricted.owner, restricted.namespace = w.owner, w.namespace
	result := restricted.rebuild(reconciler.RebuildRequest{Objects: objects(w, lostManifest), Namespaces: []string{w.namespace}})
	if diff := cmp.Diff([]reconciler.TypeInfo{{Kind: "Secret"}}, result.Unlisted); diff != "" || result.Found != 3 {
		t.Errorf("%d found, unlisted (-want +got):\n%s", result.Found, diff)
	}
	result = restricted.rebuild(reconciler.RebuildRequest{Objects: objects(w, lostManifest)})
	if diff := cmp.Diff([]reconciler.TypeInfo{{Kind: "ConfigMap"}, {Kind: "Secret"}}, result.Unlisted); diff != "" || result.Found != 0 {
		t.Errorf("%d found, unlisted (-want +got):\n%s", result.Found, diff)
	}
}

// TestRebuildOfTypesWhoseVersionIsUnknown lists types that were recorded without a version, or in one that is no longer served.
// For built-in types, there is no definition to read.
func TestRebuildOfTypesWhoseVersionIsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest + `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
`)
	types := []reconciler.TypeVersionInfo{{Version: "*", Kind: "Secret"}, {Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}, {Group: "gone.example.io", Version: "*", Kind: "Gone"}}
	w.rebuild(reconciler.RebuildRequest{Types: types})
	w.expectInventory("PodDisruptionBudget budget Ready ", "Secret kept Ready ")
	restricted := newWorld(t, withoutObserver, func(s *setup) {
		s.config = rest.CopyConfig(s.config)
		s.config.Impersonate = rest.ImpersonationConfig{UserName: "restricted-" + w.namespace}
	})
	restricted.owner = w.owner
	result := restricted.rebuild(reconciler.RebuildRequest{Types: types[:2]})
	if diff := cmp.Diff([]reconciler.TypeInfo{{Kind: "Secret"}, {Group: "policy", Kind: "PodDisruptionBudget"}}, result.Unlisted); diff != "" {
		t.Errorf("unlisted (-want +got):\n%s", diff)
	}
}

// TestRebuildDoesNotTakeAFailureForAnAnswer has requests fail for other reasons than missing permission.
func TestRebuildDoesNotTakeAFailureForAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest)
	broken := newWorld(t, withoutObserver, func(s *setup) {
		s.config = rest.CopyConfig(s.config)
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
				if strings.HasSuffix(request.URL.Path, "/secrets") {
					return nil, errors.New("nobody answers")
				}
				return next.RoundTrip(request)
			})
		})
	})
	result, err := broken.engine.Rebuild(t.Context(), reconciler.RebuildRequest{ID: w.owner.ID, Objects: objects(w, lostManifest)})
	if err == nil || !strings.Contains(err.Error(), "listing Secret") || apierrors.IsForbidden(err) {
		t.Errorf("want the failure, got %v", err)
	}
	if diff := cmp.Diff(reconciler.RebuildResult{}, result, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// TestRebuildOfLateManifests loses the record of objects whose manifests depend on data of others. They are found, are neither recreated nor written with other data, and are
// known well enough to be pruned.
func TestRebuildOfLateManifests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := &flowing{guarded: true}
	w.settleFlow(f, waitsFor("ConfigMap user: held back: the source has no address"))
	w.answer("3")
	w.settleFlow(f, done)
	uids := w.uids()

	heir := w.restart()
	heir.owner.Inventory = nil
	lost := &flowing{guarded: true}
	if rebuilt := heir.rebuild(reconciler.RebuildRequest{Objects: lost.objects(heir)}); rebuilt.Found != 4 || len(rebuilt.Unlisted) != 0 {
		t.Fatalf("want 4 objects to be found, got %v, and %v that were not listed", heir.inventory(), rebuilt.Unlisted)
	}
	result := heir.settleFlow(lost, done)
	heir.expectActions(result)
	if diff := cmp.Diff(uids, heir.uids()); diff != "" || heir.user() != "a3" {
		t.Errorf("want all objects to be as before, got %q, and other UIDs:\n%s", heir.user(), diff)
	}
	heir.expectInventory("Ingress source Ready Current", "ConfigMap after Ready Current", "ConfigMap early Ready Current", "ConfigMap user Ready Current")

	heir.owner.Inventory = nil
	heir.rebuild(reconciler.RebuildRequest{Objects: (&flowing{}).objects(heir)})
	heir.expectActions(heir.mustApply(configMapsNamed("early")), "Updated ConfigMap early", "Deleted ConfigMap user", "Deleted ConfigMap after", "Deleted Ingress source")
}
