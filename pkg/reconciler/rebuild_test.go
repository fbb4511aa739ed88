// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
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

// uids returns the UIDs of the ConfigMaps by name.
func (w *world) uids() map[string]string {
	w.Helper()
	uids := map[string]string{}
	list := &corev1.ConfigMapList{}
	if err := w.client.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for _, item := range list.Items {
		if item.Name != "kube-root-ca.crt" {
			uids[item.Name] = string(item.UID)
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
	w.create(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copy, labels: {PREFIX/owner-id: %s}}\n", manifest.OwnerLabel(w.owner.ID)))
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

// TestRebuildDoesNotRecreate has a changed manifest whose update policy is recreate: the object may have been recreated
// already.
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

// TestRebuildOverAllTypes knows nothing about the lost types. It finds instances of managed types, and the definitions
// themselves.
func TestRebuildOverAllTypes(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	w := ty.world
	w.mustApply(lostManifest + "---" + ty.expand(customType+"---"+strings.ReplaceAll(widget, "NAME", "a")))
	// A copy of one of ours, annotations included, as controllers make them.
	yes := true
	copied := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "mirror",
			Labels:          map[string]string{prefix + "/owner-id": manifest.OwnerLabel(w.owner.ID)},
			Annotations:     map[string]string{prefix + "/owner-id": w.owner.ID},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "plain", UID: w.configMap("plain").GetUID(), Controller: &yes}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	if err := w.client.Create(w.Context(), copied); err != nil {
		t.Fatal(err)
	}
	result := w.rebuild(reconciler.RebuildRequest{Types: []reconciler.TypeVersionInfo{{Group: "*", Version: "*", Kind: "*"}}})
	w.expectInventory("CustomResourceDefinition widgets."+ty.crdName()+" Ready ", "Widget a Ready ", "ConfigMap once Ready ", "ConfigMap plain Ready ",
		"Secret kept Ready ", "ConfigMap fresh Ready ")
	if diff := cmp.Diff([]reconciler.TypeVersionInfo{{Group: ty.group, Version: "*", Kind: "Widget"}}, result.Inventory[0].ManagedTypes); diff != "" {
		t.Errorf("managed types (-want +got):\n%s", diff)
	}
	w.mustDelete()
	if ty.definition() != nil {
		t.Error("a dependent is left behind")
	}
}

// TestRebuildDoesNotTakeAFailureForAnAnswer has requests fail for other reasons than missing permission.
func TestRebuildDoesNotTakeAFailureForAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(lostManifest)
	broken := newWorld(t, withoutObserver, answering("/secrets", http.StatusInternalServerError, metav1.StatusReasonInternalError))
	result, err := broken.engine.Rebuild(t.Context(), reconciler.RebuildRequest{ID: w.owner.ID, Objects: objects(w, lostManifest)})
	if err == nil || !strings.Contains(err.Error(), "listing Secret") || len(result.Inventory) > 0 {
		t.Errorf("want the failure, got %v", err)
	}
}

// forge adds an item to the inventory that denotes an object of others.
func (w *world) forge(object *unstructured.Unstructured, phase reconciler.Phase, policy reconciler.DeletePolicy) {
	gvk := object.GroupVersionKind()
	w.owner.Inventory = append(slices.Clone(w.owner.Inventory), &reconciler.InventoryItem{
		TypeVersionInfo: reconciler.TypeVersionInfo(gvk),
		NameInfo:        reconciler.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		AdoptionPolicy:  reconciler.AdoptionPolicyIfUnowned, ReconcilePolicy: reconciler.ReconcilePolicyOnObjectChange,
		UpdatePolicy: reconciler.UpdatePolicyReplace, DeletePolicy: policy,
		Digest: "2:0", Phase: phase, UID: object.GetUID(), Fingerprint: "0123456789abcdef", Baseline: "rv" + object.GetResourceVersion(),
	})
}

// TestForgedItemsAreForgotten has a user who may only write the record put objects of others into it.
func TestForgedItemsAreForgotten(t *testing.T) {
	t.Parallel()
	const own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"
	const forgotten = "stays, because it has neither the owner label nor fields of the field manager of its owner; delete it yourself if nobody needs it"
	for _, phase := range []reconciler.Phase{reconciler.PhaseReady, reconciler.PhaseDeleting, reconciler.PhaseScheduledForDeletion} {
		for _, policy := range []reconciler.DeletePolicy{reconciler.DeletePolicyDelete, reconciler.DeletePolicyOrphan} {
			t.Run(fmt.Sprintf("%s%s", phase, policy), func(t *testing.T) {
				t.Parallel()
				w, elsewhere := newWorld(t), newWorld(t)
				elsewhere.create("apiVersion: v1\nkind: Secret\nmetadata: {name: theirs}\nstringData: {a: b}\n")
				before := elsewhere.get("v1", "Secret", "theirs")
				w.mustApply(own)
				w.forge(before, phase, policy)
				result, err := w.engine.Apply(t.Context(), w.request(own))
				w.owner.Inventory = result.Inventory
				if diff := cmp.Diff("Secret theirs: "+forgotten, notices(result.Notes)); diff != "" || err != nil || !result.Done {
					t.Errorf("%v, done: %v, notes (-want +got):\n%s", err, result.Done, diff)
				}
				w.expectActions(result)
				w.expectInventory("ConfigMap own Ready Current")
				w.forge(before, phase, policy)
				w.expectPlan(w.plan(own, compare), "0 - ConfigMap NS/own", "0 - Secret "+elsewhere.namespace+"/theirs: is no longer in the manifests; it "+forgotten)
				w.mustDelete()
				if diff := cmp.Diff(before, elsewhere.get("v1", "Secret", "theirs")); diff != "" {
					t.Errorf("another owner's object was changed (-before +after):\n%s", diff)
				}
				if writes := slices.DeleteFunc(w.writes(), func(line string) bool { return !strings.Contains(line, "secrets") }); len(writes) > 0 {
					t.Errorf("expected no writes, got %v", writes)
				}
			})
		}
	}
}

// TestForgedItemDoesNotStandForAdoption has a user record an existing object as written.
func TestForgedItemDoesNotStandForAdoption(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: never, PURGE}}\ndata: {value: ours}\n"
	for name, tc := range map[string]struct {
		annotation string
		phase      reconciler.Phase
	}{
		"Ready":     {"x: z", reconciler.PhaseReady},
		"Scheduled": {"x: z", reconciler.PhaseScheduledForApplication},
		"Recreate":  {"PREFIX/update-policy: recreate", reconciler.PhaseScheduledForApplication},
		"Failed":    {`PREFIX/purge-on-failure: "true"`, reconciler.PhaseFailed},
		"Purged":    {`PREFIX/purge-order: "0"`, reconciler.PhaseScheduledForCompletion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := strings.ReplaceAll(manifest, "PURGE", tc.annotation)
			w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: theirs}\n")
			before := w.configMap("a")
			digest := w.plan(manifest, reconciler.PlanOptions{}).Inventory[0].Digest
			w.forge(before, tc.phase, reconciler.DeletePolicyDelete)
			w.owner.Inventory[0].Digest = digest
			if _, err := w.apply(manifest); err != nil {
				w.expectRefusal(err, "ConfigMap NS/a: already exists and has no owner, but its adoption policy is never")
			}
			if diff := cmp.Diff(before, w.configMap("a")); diff != "" {
				t.Errorf("another owner's object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestRebuildSparesCopies loses the record after a user has exported and imported a dependent with its labels and
// annotations.
func TestRebuildSparesCopies(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: a}\n"
	w := newWorld(t)
	w.mustApply(manifest)
	copied := w.configMap("a")
	copied.SetName("copy")
	copied.SetUID("")
	copied.SetResourceVersion("")
	copied.SetManagedFields(nil)
	w.createAs(copied, "kubectl-create")
	result := w.rebuild(reconciler.RebuildRequest{Objects: objects(w, manifest)})
	if diff := cmp.Diff([]string{"ConfigMap a Ready "}, w.inventory()); diff != "" || result.Found != 1 {
		t.Errorf("%d found (-want +got):\n%s", result.Found, diff)
	}
	w.mustApply(manifest)
	w.rebuild(reconciler.RebuildRequest{Types: []reconciler.TypeVersionInfo{{Version: "v1", Kind: "ConfigMap"}}})
	w.mustDelete()
	if w.configMap("a") != nil {
		t.Error("a dependent is left behind")
	}
	if w.configMap("copy") == nil {
		t.Error("a copy of a dependent was deleted")
	}
}

// TestRebuildFindsWhatTheAncestorWrote has a dependent that was written by an update, and changed by others since.
func TestRebuildFindsWhatTheAncestorWrote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifest := w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS, labels: {PREFIX/owner-id: " + manifest.OwnerLabel(w.owner.ID) +
		"}, annotations: {PREFIX/owner-id: " + w.owner.ID + "}}\ndata: {value: a}\n")
	w.createAs(testenv.Object(t, manifest), prefix)
	w.patch(w.configMap("a"), `{"data":{"key":"value"}}`)
	if result := w.rebuild(reconciler.RebuildRequest{Types: []reconciler.TypeVersionInfo{{Version: "v1", Kind: "ConfigMap"}}}); result.Found != 1 {
		t.Errorf("%d found", result.Found)
	}
}

// createAs creates an object as the given field manager.
func (w *world) createAs(object *unstructured.Unstructured, manager string) {
	w.Helper()
	if err := w.client.Create(w.Context(), object, client.FieldOwner(manager)); err != nil {
		w.Fatal(err)
	}
}

const budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 1, selector: {matchLabels: {app: a}}}\n"

// upgrade is a server that serves policy/v1beta1, and nothing else of that group, until it is done; then it is the real
// one.
type upgrade struct{ done atomic.Bool }

func (u *upgrade) wrap(next http.RoundTripper) http.RoundTripper {
	const older, newer = "v1beta1", "v1"
	return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
		path := request.URL.Path
		if u.done.Load() || path != "/apis" && path != "/apis/policy" && !strings.HasPrefix(path, "/apis/policy/") {
			return next.RoundTrip(request)
		}
		request = request.Clone(request.Context())
		request.URL.Path = strings.Replace(path, "/policy/"+older, "/policy/"+newer, 1)
		if path == "/apis" {
			request.Header.Set("Accept", "application/json")
		}
		if request.Body != nil {
			sent, err := io.ReadAll(request.Body)
			if err != nil {
				return nil, err
			}
			sent = bytes.ReplaceAll(sent, []byte("policy/"+older), []byte("policy/"+newer))
			request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
		}
		response, err := next.RoundTrip(request)
		if err != nil || request.URL.Query().Get("watch") != "" {
			return response, err
		}
		received, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		received = bytes.ReplaceAll(received, []byte(`policy/`+newer+`"`), []byte(`policy/`+older+`"`))
		received = bytes.ReplaceAll(received, []byte(`"groupVersion":"policy/`+older+`","version":"v1"`), []byte(`"groupVersion":"policy/`+older+`","version":"v1beta1"`))
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(received)), int64(len(received))
		return response, nil
	})
}

// TestRemovedVersionOfABuiltInType has an inventory with a version that is no longer served.
func TestRemovedVersionOfABuiltInType(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world) (reconciler.Result, error){
		"Deletion": func(w *world) (reconciler.Result, error) { return w.delete() },
		"Pruning":  func(w *world) (reconciler.Result, error) { return w.apply("") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(budget)
			w.patch(w.get("policy/v1", "PodDisruptionBudget", "a"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
			w.owner.Inventory[0].Version = "v1beta1"
			result, err := end(w)
			if err != nil {
				t.Fatal(err)
			}
			if result.Done || len(w.owner.Inventory) != 1 || w.owner.Inventory[0].Version != "v1" {
				t.Fatalf("expected the record to stay and to name the version that is served, got done %t, %v", result.Done, w.owner.Inventory)
			}
			live := w.get("policy/v1", "PodDisruptionBudget", "a")
			if live == nil || live.GetDeletionTimestamp() == nil {
				t.Fatal("expected the object to be deleted")
			}
			w.patch(live, `{"metadata":{"finalizers":null}}`)
			w.finish(func() (reconciler.Result, error) { return end(w) })
			if w.get("policy/v1", "PodDisruptionBudget", "a") != nil {
				t.Error("the object stays, and nobody knows of it any more")
			}
		})
	}
}

// TestServerIsUpgradedWhileTheOperatorRuns has a client that knows the removed version.
func TestServerIsUpgradedWhileTheOperatorRuns(t *testing.T) {
	t.Parallel()
	var server upgrade
	w := newWorld(t, withoutObserver, func(s *setup) { s.config.Wrap(server.wrap) })
	older := strings.Replace(budget, "policy/v1", "policy/v1beta1", 1)
	testenv.Eventually(t, func() (bool, string) {
		request := w.request(older)
		result, err := w.engine.Apply(t.Context(), request)
		w.owner.Inventory = result.Inventory
		return err == nil && result.Done, "the object is not applied"
	})
	server.done.Store(true)
	w.mustDelete()
	if w.get("policy/v1", "PodDisruptionBudget", "a") != nil {
		t.Error("the object stays, and nobody knows of it any more")
	}
}

const nowhere = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.GROUP}
spec: {group: GROUP, version: v1, service: {namespace: NS, name: nowhere}, insecureSkipTLSVerify: true, groupPriorityMinimum: 100, versionPriority: 10}
`

// TestAPIThatDoesNotAnswerIsNotGone has a recorded object whose type is served by an API that does not answer.
//
//nolint:paralleltest // while an API does not answer, no test can list all that is in its namespace
func TestAPIThatDoesNotAnswerIsNotGone(t *testing.T) {
	for name, end := range map[string]func(w *world) (reconciler.Result, error){
		"Deletion": func(w *world) (reconciler.Result, error) { return w.delete() },
		"Pruning":  func(w *world) (reconciler.Result, error) { return w.apply("") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			group := w.namespace + ".example.com"
			service := testenv.Object(t, w.expand(strings.ReplaceAll(nowhere, "GROUP", group)))
			if err := w.client.Create(t.Context(), service); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.client.Delete(context(t), service) })
			item := &reconciler.InventoryItem{Phase: reconciler.PhaseReady, Digest: "d", UID: "u"}
			item.Group, item.Version, item.Kind, item.Namespace, item.Name = group, "v1", "Thing", w.namespace, "a"
			for _, version := range []string{"v1", "v1alpha1"} {
				item.Version = version
				w.owner.Inventory = []*reconciler.InventoryItem{item}
				testenv.Eventually(t, func() (bool, string) {
					result, err := end(w)
					if result.Done || len(w.owner.Inventory) != 1 {
						t.Fatalf("%s: the object is taken for gone, although its API does not answer", version)
					}
					return err == nil && (strings.Contains(notices(result.Waits), "cannot serve the request") || strings.Contains(notices(result.Waits), "it is not known whether there are any objects of type Thing."+group)), notices(result.Waits)
				})
			}
			if _, err := w.engine.CheckDeletion(t.Context(), reconciler.DeleteRequest{Owner: reconciler.Owner{ID: w.owner.ID, AdditionalManagedTypes: []reconciler.TypeInfo{{Group: group, Kind: "Thing"}}}}); err == nil {
				t.Error("expected an error, since it is not known whether there are instances")
			}
			result, err := w.engine.Rebuild(t.Context(), reconciler.RebuildRequest{ID: w.owner.ID, Types: []reconciler.TypeVersionInfo{{Group: group, Version: "v1alpha1", Kind: "Thing"}}})
			if err != nil || !slices.Contains(result.Unlisted, reconciler.TypeInfo{Group: group, Kind: "Thing"}) {
				t.Errorf("expected the type to be named, got %v, %v", result.Unlisted, err)
			}
			if err := w.client.Delete(t.Context(), service); err != nil {
				t.Fatal(err)
			}
			w.finish(func() (reconciler.Result, error) { return end(w) })
		})
	}
}

// TestAggregatedAPIThatAnswersNotFoundIsNotGone has the backend of an aggregated API answer that it knows nothing, as a
// load balancer or a server that has just started does. The API server knows the group.
func TestAggregatedAPIThatAnswersNotFoundIsNotGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutObserver, answering(".example.com/v1", http.StatusNotFound, metav1.StatusReasonNotFound))
	group := w.namespace + ".example.com"
	service := testenv.Object(t, w.expand(strings.ReplaceAll(nowhere, "GROUP", group)))
	if err := w.client.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.client.Delete(context(t), service) })
	testenv.Eventually(t, func() (bool, string) {
		group, err := cluster.ReadGroup(t.Context(), newClusterClient(t, testenv.Config(t)).DiscoveryClient(), group)
		return err == nil && len(group.Versions) > 0, "the group is not known yet"
	})
	item := &reconciler.InventoryItem{Phase: reconciler.PhaseReady, Digest: "d", UID: "u"}
	item.Group, item.Version, item.Kind, item.Namespace, item.Name = group, "v1", "Thing", w.namespace, "a"
	w.owner.Inventory = []*reconciler.InventoryItem{item}
	result, err := w.delete()
	if err != nil || result.Done || !strings.Contains(notices(result.Waits), "it is not known whether there are any objects of type Thing."+group) {
		t.Errorf("expected to wait, since the API does not answer, got %v, %s, %v", result.Done, notices(result.Waits), err)
	}
}
