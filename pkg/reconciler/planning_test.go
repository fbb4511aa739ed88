// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcmp "cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

var compare = reconciler.PlanOptions{Compare: true}

// plan says what would be done about the manifests.
func (w *world) plan(manifests string, options reconciler.PlanOptions) reconciler.Plan {
	w.Helper()
	plan, err := w.engine.Plan(w.Context(), w.request(manifests), options)
	if err != nil {
		w.Fatal(err)
	}
	return plan
}

// lines renders a plan, one line an object.
func (w *world) lines(plan reconciler.Plan) []string {
	var lines []string
	for _, change := range plan.Changes {
		line := fmt.Sprintf("%d %s %s", change.Wave, stdcmp.Or(string(change.Verb), "-"), change.Object)
		for mark, marked := range map[string]bool{" recreated": change.Recreate, " local": change.Local} {
			if marked {
				line += mark
			}
		}
		if change.Reason != "" {
			line += ": " + change.Reason
		}
		if change.Refusal != "" {
			line += "! " + change.Refusal
		}
		lines = append(lines, strings.ReplaceAll(line, w.namespace, "NS"))
	}
	return lines
}

func (w *world) expectPlan(plan reconciler.Plan, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.lines(plan), cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("plan (-want +got):\n%s", diff)
	}
}

const planned = `
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
apiVersion: v1
kind: ConfigMap
metadata: {name: drifted}
data: {a: "1", b: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, annotations: {PREFIX/update-policy: ssa-merge}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: lost, annotations: {PREFIX/apply-order: "2"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: anew, annotations: {PREFIX/update-policy: recreate, value: "VALUE"}}
---
`

const goes = `
apiVersion: v1
kind: ConfigMap
metadata: {name: goes}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: released, annotations: {PREFIX/delete-policy: orphan, PREFIX/delete-order: "-1"}}
---
`

const comes = `
apiVersion: v1
kind: ConfigMap
metadata: {name: new, annotations: {PREFIX/apply-order: "-1"}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: found}
data: {a: "1"}
---
`

// meddle has others change what was applied.
func (w *world) meddle() {
	w.Helper()
	w.patchAs(w.configMap("drifted"), `{"data":{"a":"2","b":null,"c":"3"}}`, "kubectl-edit")
	w.patchAs(w.configMap("shared"), `{"data":{"theirs":"1"}}`, "somebody")
	w.remove(w.configMap("lost"))
	w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: found}\ndata: {b: \"1\"}\n")
}

func TestPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before, after := strings.ReplaceAll(planned, "VALUE", "1"), strings.ReplaceAll(planned, "VALUE", "2")
	w.mustApply(before + goes)
	w.rest(before + goes)
	w.expectPlan(w.plan(before+goes, reconciler.PlanOptions{}),
		"0 - ConfigMap NS/anew", "0 - ConfigMap NS/changed", "0 - ConfigMap NS/drifted", "0 - ConfigMap NS/goes", "0 - ConfigMap NS/released",
		"0 - ConfigMap NS/same", "0 - ConfigMap NS/shared", "2 - ConfigMap NS/lost")
	w.meddle()
	want := []string{
		"-1 Created ConfigMap NS/new: does not exist",
		"0 Updated ConfigMap NS/anew recreated: the manifest changed",
		"0 Updated ConfigMap NS/changed: the manifest changed",
		"0 Corrected ConfigMap NS/drifted: was changed by another client",
		"0 Created ConfigMap NS/found: does not exist",
		"0 - ConfigMap NS/same",
		"0 - ConfigMap NS/shared: may have been changed by another client",
		"2 Restored ConfigMap NS/lost: was deleted by another client",
		"-1 Orphaned ConfigMap NS/released: is no longer in the manifests",
		"0 Deleted ConfigMap NS/goes: is no longer in the manifests",
	}
	var told reconciler.Plan
	testenv.Eventually(t, func() (bool, string) {
		told = w.plan(after+comes, reconciler.PlanOptions{})
		return cmp.Equal(want, w.lines(told)), cmp.Diff(want, w.lines(told))
	})
	for _, change := range told.Changes {
		if change.Before != nil || change.After != nil {
			t.Errorf("%s: without comparing there is no content", change.Object)
		}
	}
	want[3] = "0 Corrected ConfigMap NS/drifted: was changed by kubectl-edit: .data.a, .data.b, .data.c"
	want[4] = "0 Adopted ConfigMap NS/found: already exists and has no owner"
	want[6] = "0 - ConfigMap NS/shared"
	compared := w.plan(after+comes, compare)
	w.expectPlan(compared, want...)
	w.expectBeforeAndAfter(compared, map[string][2]map[string]any{
		"new":      {nil, {"a": "1"}},
		"changed":  {{"a": "1"}, {"a": "2"}},
		"drifted":  {{"a": "2", "c": "3"}, {"a": "1", "b": "1"}},
		"found":    {{"b": "1"}, {"a": "1"}},
		"lost":     {nil, {}},
		"anew":     {{}, {}},
		"goes":     {{}, nil},
		"released": {{}, {}},
	})
	w.mustApply(after + comes)
}

// expectBeforeAndAfter checks the data of what is to be changed, by name, and that nothing else has content.
func (w *world) expectBeforeAndAfter(plan reconciler.Plan, want map[string][2]map[string]any) {
	w.Helper()
	data := func(object *unstructured.Unstructured) map[string]any {
		if object == nil {
			return nil
		}
		content, _, _ := unstructured.NestedMap(object.Object, "data")
		if content == nil {
			content = map[string]any{}
		}
		return content
	}
	got := map[string][2]map[string]any{}
	for _, change := range plan.Changes {
		if change.Before == nil && change.After == nil {
			continue
		}
		got[change.Object.Name] = [2]map[string]any{data(change.Before), data(change.After)}
		for _, object := range []*unstructured.Unstructured{change.Before, change.After} {
			if object == nil {
				continue
			}
			metadata, _, _ := unstructured.NestedMap(object.Object, "metadata")
			for _, noise := range []string{"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"} {
				if metadata[noise] != nil {
					w.Errorf("%s: metadata.%s does not belong into a comparison", change.Object, noise)
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("before and after (-want +got):\n%s", diff)
	}
}

func TestRequestsOfPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before, after := strings.ReplaceAll(planned, "VALUE", "1"), strings.ReplaceAll(planned, "VALUE", "2")
	w.mustApply(before + goes)
	w.rest(before + goes)
	w.requests.Reset()
	w.plan(before+goes, compare)
	if w.requests.Len() > 0 {
		t.Errorf("where there is nothing to do, there is nothing to ask, got:\n%s", w.requests)
	}
	w.meddle()
	w.rested(after+comes, "0 Corrected ConfigMap NS/drifted: was changed by another client")
	w.requests.Reset()
	w.plan(after+comes, reconciler.PlanOptions{})
	if w.requests.Len() > 0 {
		t.Errorf("without comparing, the observer says all, got:\n%s", w.requests)
	}
	saves, inventory := w.saves, fmt.Sprint(w.inventory())
	w.plan(after+comes, compare)
	if requests := w.requests.Len(); requests > 24 {
		t.Errorf("want few requests for each change, got %d:\n%s", requests, w.requests)
	}
	for _, request := range w.requests.All() {
		if request.IsWrite() && request.Query.Get("dryRun") != "All" {
			t.Errorf("a plan must not write, got %s %s", request.Method, request.Path)
		}
	}
	if w.saves != saves || fmt.Sprint(w.inventory()) != inventory {
		t.Error("a plan must not touch the inventory")
	}
}

// rested waits until the observer knows what a line of the plan says.
func (w *world) rested(manifests, line string) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		lines := w.lines(w.plan(manifests, reconciler.PlanOptions{}))
		return strings.Contains(strings.Join(lines, "\n"), line), strings.Join(lines, "\n")
	})
}

// TestPlanOfWhatDiffersEachTime has values that the server generates for each request, which a plan must not show.
func TestPlanOfWhatDiffersEachTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := expand(jobs) + "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {type: NodePort, ports: [{port: 80}]}\n"
	first, second := w.plan(manifests, compare), w.plan(manifests, compare)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two plans of the same (-first +second):\n%s", diff)
	}
	w.settle(manifests, done)
}

// TestPlanAsksForHiddenObjects: without requests, an object without our label counts as absent.
func TestPlanAsksForHiddenObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: theirs}}")
	const manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: ours}}"
	w.expectPlan(w.plan(manifest, reconciler.PlanOptions{}), "0 Created ConfigMap NS/a: does not exist")
	w.expectPlan(w.plan(manifest, reconciler.PlanOptions{Ask: true}), "0 Adopted ConfigMap NS/a: already exists and has no owner")
}

func TestPlanOfMissingNamespaces(t *testing.T) {
	t.Parallel()
	const inside = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS-in}\ndata: {a: b}\n"
	const namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: NS-in}\n"
	w := newWorld(t)
	declared := w.plan(inside+namespace, compare)
	w.expectPlan(declared, "0 Created Namespace NS-in: does not exist", "0 Created ConfigMap NS-in/a local: does not exist")
	undeclared := w.plan(inside, compare)
	w.expectPlan(undeclared, "0 Created ConfigMap NS-in/a local: does not exist")
	if want := []string{w.namespace + "-in"}; len(declared.Namespaces) > 0 || !slices.Equal(undeclared.Namespaces, want) {
		t.Errorf("a plan names the namespaces that no object declares, got %v and %v, want none and %v", declared.Namespaces, undeclared.Namespaces, want)
	}
	w.policies.MissingNamespaces = reconciler.MissingNamespacesPolicyDoNotCreate
	w.expectPlan(w.plan(inside, compare), "0 Created ConfigMap NS-in/a local: does not exist; namespace NS-in does not exist")
	if w.get("v1", "Namespace", "NS-in") != nil {
		t.Error("a plan must not create namespaces")
	}
}

// TestPlanOfPrerequisites plans an object that the API server refuses only as long as others do not exist, which are
// applied before.
func TestPlanOfPrerequisites(t *testing.T) {
	t.Parallel()
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: NS}
spec: {serviceAccountName: runner, priorityClassName: NS-urgent, containers: [{name: main, image: main}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: NS-urgent}
value: 7
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: NS}
`
	w := newWorld(t)
	w.expectPlan(w.plan(pod, compare), "0 Created PriorityClass NS-urgent: does not exist", "0 Created ServiceAccount NS/runner: does not exist",
		"0 Created Pod NS/pod local: does not exist")
}

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

// prepareExpected has a state in which something of everything is to be done, and the plan for that, saved and read
// again.
func (w *world) prepareExpected() (after string, plan *reconciler.Plan) {
	w.Helper()
	before := strings.ReplaceAll(expectedBefore, "VALUE", "1") + goes
	w.settle(before, done)
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
	if err := w.client.Status().Patch(context(w), object, client.RawPatch(apitypes.MergePatchType, []byte(patch)), client.FieldOwner("controller")); err != nil {
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
		"ForeignChanged": {
			reason: "an object to be adopted was changed", meddle: func(w *world) { w.patch(w.get("v1", "Service", "found"), `{"metadata":{"labels":{"a":"b"}}}`) },
			stale: []string{"Service NS/found: " + other},
		},
		"Exists": {
			reason: "an object to be created exists without our label", meddle: func(w *world) { w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n") },
			stale: []string{"ConfigMap NS/new: was created since the plan was made"},
		},
		"Gone": {
			reason: "what is to stay is gone", meddle: func(w *world) { w.remove(w.configMap("same")) },
			stale: []string{"ConfigMap NS/same: no longer exists, or is being deleted"},
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
			w.awaitChange()
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
			w.settle(after, done)
		})
	}
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
