// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 1, selector: {matchLabels: {app: a}}}\n"

// upgrade is a server that serves policy/v1beta1, and nothing else of that group, until it is done; then it is the real one.
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
			testenv.Eventually(t, func() (bool, string) {
				result, err := end(w)
				return err == nil && result.Done, notices(result.Waits)
			})
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
		request := reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, older), Digest: w.digest}
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

// TestRemovedVersionInAPlan expects a plan to find the object, too.
func TestRemovedVersionInAPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(budget)
	w.owner.Inventory[0].Version = "v1beta1"
	plan, err := w.planner.Plan(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Digest: w.digest}, reconciler.PlanOptions{Compare: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Changes) != 1 || plan.Changes[0].Verb != reconciler.VerbDeleted {
		t.Errorf("expected the object to be deleted, got %+v", plan.Changes)
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
			testenv.Eventually(t, func() (bool, string) {
				result, err := end(w)
				return err == nil && result.Done, notices(result.Waits)
			})
		})
	}
}

// TestAggregatedAPIThatAnswersNotFoundIsNotGone has the backend of an aggregated API answer that it knows nothing, as a load
// balancer or a server that has just started does. The API server knows the group.
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

// TestRebuildFindsWhatIsServedInAnotherVersion has recorded kinds in a version that is not served.
func TestRebuildFindsWhatIsServedInAnotherVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(budget)
	known := *w.owner.Inventory[0]
	known.Version = "v1beta1"
	result, err := w.engine.Rebuild(t.Context(), reconciler.RebuildRequest{
		ID: w.owner.ID, Namespaces: []string{w.namespace}, Types: []reconciler.TypeVersionInfo{{Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}},
	})
	if err != nil || result.Found != 1 {
		t.Errorf("expected to find the object, got %v, %v", result.Inventory, err)
	}
	result, err = w.engine.Rebuild(t.Context(), reconciler.RebuildRequest{ID: w.owner.ID, Known: []*reconciler.InventoryItem{&known}})
	if err != nil {
		t.Fatal(err)
	}
	w.owner.Inventory = result.Inventory
	w.mustDelete()
	if w.get("policy/v1", "PodDisruptionBudget", "a") != nil {
		t.Error("the object stays, and nobody knows of it any more")
	}
}
