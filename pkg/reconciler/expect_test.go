// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const expectedBefore = `
apiVersion: v1
kind: ConfigMap
metadata: {name: same}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: changed}
data: {a: "VALUE"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {value: "VALUE"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.com/none}]}
---
`

const expectedMore = `
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
---
apiVersion: v1
kind: Service
metadata: {name: found}
spec: {type: LoadBalancer, externalIPs: [192.0.2.1], ports: [{port: 80}]}
---
`

// prepareExpected has a state in which something of everything is to be done, and the plan for that, saved and read again.
func (w *world) prepareExpected() (after string, plan *reconciler.Plan) {
	w.Helper()
	before := strings.ReplaceAll(expectedBefore, "VALUE", "1") + goes
	w.settle(before, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	w.create("apiVersion: v1\nkind: Service\nmetadata: {name: found}\nspec: {type: LoadBalancer, externalIPs: [192.0.2.1], externalTrafficPolicy: Local, ports: [{port: 80}]}\n")
	w.rest(before)
	after = strings.ReplaceAll(expectedBefore, "VALUE", "2") + expectedMore
	return after, w.saved(w.plan(after, compare))
}

func (w *world) saved(plan reconciler.Plan) *reconciler.Plan {
	w.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		w.Fatal(err)
	}
	read := &reconciler.Plan{}
	if err := json.Unmarshal(text, read); err != nil {
		w.Fatal(err)
	}
	return read
}

func (w *world) applyExpected(manifests string, plan *reconciler.Plan) (reconciler.Result, error) {
	w.Helper()
	request := w.request(manifests)
	request.Expected = plan
	result, err := w.engine.Apply(w.Context(), request)
	w.owner.Inventory = result.Inventory
	return result, err
}

// status has a controller change the status of an object.
func (w *world) status(object *unstructured.Unstructured, patch string) {
	w.Helper()
	if err := w.client.Status().Patch(context(w), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("controller")); err != nil {
		w.Error(err)
	}
}

func TestExpectedPlan(t *testing.T) {
	t.Parallel()
	const other = "was changed by another client since the plan was made"
	nothing := func(*world) {}
	for name, tc := range map[string]struct {
		reason   string
		meddle   func(*world)
		request  func(string) string
		policies reconciler.Policies
		stale    []string
	}{
		"Nothing": {reason: "nothing happened", meddle: nothing},
		"Status": {reason: "a status is nothing that is planned", meddle: func(w *world) {
			w.status(w.get("apps/v1", "Deployment", "web"), `{"status":{"observedGeneration":1,"conditions":[{"type":"Strange","status":"True"}]}}`)
		}},
		"StatusOfForeign": {reason: "also if the kind has no generation and the object is not ours yet", meddle: func(w *world) {
			w.status(w.get("v1", "Service", "found"), `{"status":{"loadBalancer":{"ingress":[{"ip":"10.1.2.3"}]}}}`)
		}},
		"Label": {reason: "what others add beside is theirs", meddle: func(w *world) { w.patch(w.configMap("changed"), `{"metadata":{"labels":{"theirs":"1"}}}`) }},
		"Changed": {
			reason: "an object to be updated was changed", meddle: func(w *world) { w.patch(w.configMap("changed"), `{"data":{"a":"3"}}`) },
			stale: []string{"ConfigMap NS/changed: " + other},
		},
		"Drifted": {
			reason: "what is to stay was changed", meddle: func(w *world) { w.patch(w.configMap("same"), `{"data":{"a":"3"}}`) },
			stale: []string{"ConfigMap NS/same: " + other},
		},
		"ForeignChanged": {
			reason: "an object to be adopted was changed", meddle: func(w *world) { w.patch(w.get("v1", "Service", "found"), `{"metadata":{"labels":{"a":"b"}}}`) },
			stale: []string{"Service NS/found: " + other},
		},
		"ForeignGone": {
			reason: "an object to be adopted is gone", meddle: func(w *world) { w.remove(w.get("v1", "Service", "found")) },
			stale: []string{"Service NS/found: no longer exists, or is being deleted"},
		},
		"Exists": {
			reason: "an object to be created exists without our label", meddle: func(w *world) { w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n") },
			stale: []string{"ConfigMap NS/new: was created since the plan was made"},
		},
		"Gone": {
			reason: "what is to stay is gone", meddle: func(w *world) { w.remove(w.configMap("same")) },
			stale: []string{"ConfigMap NS/same: no longer exists, or is being deleted"},
		},
		"Anew": {
			reason: "it is another object", meddle: func(w *world) {
				w.remove(w.configMap("changed"))
				w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: changed}\n")
			},
			stale: []string{"ConfigMap NS/changed: was recreated since the plan was made"},
		},
		"UnwantedChanged": {
			reason: "what is to go was changed", meddle: func(w *world) { w.patch(w.configMap("goes"), `{"metadata":{"annotations":{"PREFIX/owner-id":"x"}}}`) },
			stale: []string{"ConfigMap NS/goes: " + other},
		},
		"UnwantedGone": {reason: "what is to go is gone", meddle: func(w *world) { w.remove(w.configMap("goes")) }},
		"Manifest": {
			reason: "other manifests", meddle: nothing, request: func(text string) string { return strings.ReplaceAll(text, `a: "2"`, `a: "3"`) },
			stale: []string{"ConfigMap NS/changed: its manifest or policies differ from the plan"},
		},
		"More": {
			reason: "one more", meddle: nothing, request: func(text string) string { return text + "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n" },
			stale: []string{"ConfigMap NS/more: is not part of the plan"},
		},
		"Less": {
			reason: "one less", meddle: nothing, request: func(text string) string {
				return strings.Replace(text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n---\n", "", 1)
			},
			stale: []string{"ConfigMap NS/new: is no longer in the manifests"},
		},
		"Several": {
			reason: "each is named", meddle: func(w *world) {
				w.patch(w.configMap("changed"), `{"data":{"a":"3"}}`)
				w.patch(w.configMap("same"), `{"data":{"a":"3"}}`)
			},
			stale: []string{"ConfigMap NS/changed: " + other, "ConfigMap NS/same: " + other},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			after, plan := w.prepareExpected()
			tc.meddle(w)
			if tc.request != nil {
				after = tc.request(after)
			}
			w.noticed(after, plan, tc.stale)
			w.requests.Reset()
			saves := w.saves
			result, err := w.applyExpected(after, plan)
			w.expectStale(err, tc.stale...)
			if len(tc.stale) > 0 {
				if writes := w.writes(); len(writes) > 0 || w.saves != saves {
					t.Errorf("%s: nothing must be written, got %v", tc.reason, writes)
				}
				return
			}
			for _, action := range actions(result) {
				if strings.HasSuffix(action, "same") || strings.HasPrefix(action, "Corrected") {
					t.Errorf("%s: this was not planned: %s", tc.reason, action)
				}
			}
			w.settle(after, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
		})
	}
}

// noticed waits until the observer has seen that dependents are not what they were when the plan was made.
func (w *world) noticed(manifests string, plan *reconciler.Plan, stale []string) {
	w.Helper()
	planned := map[string]reconciler.Change{}
	for _, change := range plan.Changes {
		planned[change.Object.String()] = change
	}
	testenv.Eventually(w, func() (bool, string) {
		for _, now := range w.plan(manifests, reconciler.PlanOptions{}).Changes {
			then := planned[now.Object.String()]
			dependent := then.Verb != reconciler.VerbCreated && then.Verb != reconciler.VerbAdopted && then.UID != ""
			named := slices.ContainsFunc(stale, func(text string) bool {
				return strings.HasPrefix(text, strings.ReplaceAll(now.Object.String(), w.namespace, "NS")+": ")
			})
			if dependent && named && now.Digest == then.Digest && now.UID == then.UID && now.Fingerprint == then.Fingerprint {
				return false, now.Object.String() + " is still as it was"
			}
		}
		return true, ""
	})
}

func (w *world) expectStale(err error, want ...string) {
	w.Helper()
	var stale *reconciler.StaleError
	if len(want) == 0 {
		if err != nil {
			w.Errorf("expected the plan to fit, got %v", err)
		}
		return
	}
	if !errors.As(err, &stale) {
		w.Fatalf("expected the plan to be stale, got %v", err)
	}
	var got []string
	for _, change := range stale.Changes {
		got = append(got, strings.ReplaceAll(change, w.namespace, "NS"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("stale (-want +got):\n%s", diff)
	}
}

// TestExpectedPlanIsKeptToTheEnd changes an object when its write is already under way.
func TestExpectedPlanIsKeptToTheEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, method, name string
		meddle               func(*world)
		stale                []string
	}{
		"Status": {"a status does not matter", http.MethodPatch, "web", func(w *world) {
			w.status(w.get("apps/v1", "Deployment", "web"), `{"status":{"conditions":[{"type":"Strange","status":"True"}]}}`)
		}, nil},
		"Changed": {
			"a field of ours", http.MethodPatch, "changed", func(w *world) { w.patch(w.configMap("changed"), `{"data":{"a":"3"}}`) },
			[]string{"ConfigMap NS/changed: was changed by another client since the plan was made"},
		},
		"Exists": {
			"it exists by now", http.MethodPatch, "new", func(w *world) { w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n") },
			[]string{"ConfigMap NS/new: was created since the plan was made"},
		},
		"Unwanted": {
			"it is to go", http.MethodDelete, "goes", func(w *world) { w.patch(w.configMap("goes"), `{"metadata":{"annotations":{"PREFIX/owner-id":"x"}}}`) },
			[]string{"ConfigMap NS/goes: was changed by another client since the plan was made"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			var armed atomic.Bool
			w = newWorld(t, func(s *setup) {
				s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
					return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
						if request.Method == tc.method && strings.HasSuffix(request.URL.Path, "/"+tc.name) && armed.CompareAndSwap(true, false) {
							tc.meddle(w)
						}
						return next.RoundTrip(request)
					})
				})
			})
			after, plan := w.prepareExpected()
			if tc.method == http.MethodDelete {
				// Then there is nothing to wait for before it.
				after, _, _ = strings.Cut(after, "---")
				plan = w.saved(w.plan(after, compare))
			}
			armed.Store(true)
			_, err := w.applyExpected(after, plan)
			w.expectStale(err, tc.stale...)
			if armed.Load() {
				t.Errorf("%s: the write did not happen", tc.reason)
			}
		})
	}
}

// TestExpectedPlanLeavesAlone has a plan that leaves an object as it is, although others may have changed it.
func TestExpectedPlanLeavesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(planned)
	w.rest(planned)
	w.patch(w.configMap("same"), `{"data":{"more":"theirs"}}`)
	w.rested(planned, "- ConfigMap NS/same: may have been changed by another client")
	result, err := w.applyExpected(planned+comes, w.saved(w.plan(planned+comes, reconciler.PlanOptions{})))
	if err != nil {
		t.Fatal(err)
	}
	w.expectActions(result, "Created ConfigMap new", "Created ConfigMap found")
	if result.RequeueAfter == 0 {
		t.Error("that it is looked into needs a timer")
	}
	w.expectActions(w.mustApply(planned+comes), "Corrected ConfigMap same")
}

// TestExpectedPlanMayBeContinued repeats a call that has failed halfway.
func TestExpectedPlanMayBeContinued(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	w := newWorld(t, func(s *setup) {
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
				if failing.Load() && request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/web") {
					return nil, errors.New("the connection broke")
				}
				return next.RoundTrip(request)
			})
		})
	})
	after, plan := w.prepareExpected()
	failing.Store(true)
	result, err := w.applyExpected(after, plan)
	if err == nil || len(result.Actions) == 0 {
		t.Fatalf("expected the call to fail in the middle, got %v, %v", err, actions(result))
	}
	failing.Store(false)
	if _, err := w.applyExpected(after, plan); err != nil {
		t.Errorf("what was done as planned makes nothing stale, got %v", err)
	}
	w.settle(after, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
}
