// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/requests"
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

func (w *world) request(manifests string) reconciler.ApplyRequest {
	w.Helper()
	return reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, manifests), Digest: w.digest, Policies: w.policies}
}

// lines renders a plan, one line an object.
func (w *world) lines(plan reconciler.Plan) []string {
	var lines []string
	for _, change := range plan.Changes {
		line := fmt.Sprintf("%d %s %s", change.Wave, orDefault(string(change.Verb), "-"), change.Object)
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

func orDefault(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
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
	counts := map[string]map[string]int{}
	for _, request := range w.requests.All() {
		if request.IsWrite() && request.Query.Get("dryRun") != "All" {
			t.Errorf("a plan must not write, got %s %s", request.Method, request.Path)
		}
		if counts[request.Name] == nil {
			counts[request.Name] = map[string]int{}
		}
		counts[request.Name][request.Method]++
	}
	get, patch, put := http.MethodGet, http.MethodPatch, http.MethodPut
	want := map[string]map[string]int{
		"new": {patch: 1}, "lost": {patch: 1},
		"":     {get: 1, http.MethodPost: 1}, // whether "anew" owns claims, and can be created
		"anew": {get: 1, patch: 1}, "changed": {get: 1, patch: 1}, "shared": {get: 1, patch: 1},
		"drifted": {get: 1, patch: 1, put: 1}, // fields of others go
		"found":   {get: 1, patch: 2, put: 1}, // it was found by trying to create it
		"goes":    {get: 1}, "released": {get: 1},
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
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

// refusing is a store that keeps what it refuses to save.
type refusing struct{ inventory []*reconciler.InventoryItem }

func (r *refusing) Save(_ stdcontext.Context, inventory []*reconciler.InventoryItem) error {
	r.inventory = inventory
	return errors.New("refused")
}

// TestPlanSaysWhatIsRecordedFirst plans what Apply would save before its first write. A caller that has saved it already spares
// Apply the save.
func TestPlanSaysWhatIsRecordedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const kind = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: "
	w.mustApply(kind + "kept}\n" + kind + "changed}\n" + kind + "unwanted}\n")
	request := w.request(kind + "kept}\n" + kind + "changed, labels: {x: z}}\n" + kind + "new}\n")
	request.Version = "2"
	plan, err := w.engine.Plan(t.Context(), request, reconciler.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store := &refusing{}
	request.Store = store
	if _, err := w.engine.Apply(t.Context(), request); err == nil || len(store.inventory) != 4 {
		t.Fatalf("got error %v after an attempt to save %d items", err, len(store.inventory))
	}
	if diff := cmp.Diff(store.inventory, plan.Inventory); diff != "" {
		t.Errorf("unexpected inventory (-Apply +planned):\n%s", diff)
	}

	request.Inventory, store.inventory = plan.Inventory, nil
	result, err := w.engine.Apply(t.Context(), request)
	if err != nil || store.inventory != nil {
		t.Fatalf("got error %v after an attempt to save %d items, although they are recorded", err, len(store.inventory))
	}
	w.expectActions(result, "Created ConfigMap new", "Updated ConfigMap changed", "Deleted ConfigMap unwanted")
	request.Inventory = result.Inventory
	if plan, err := w.engine.Plan(t.Context(), request, reconciler.PlanOptions{}); err != nil || plan.Inventory != nil {
		t.Errorf("got error %v and an inventory of %d items, although there is nothing to be done", err, len(plan.Inventory))
	}
}

func TestPlanIsSavedWithoutContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan := w.plan("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: hidden}\n", compare)
	saved, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(saved), "hidden") || strings.Contains(string(saved), "aGlkZGVu") {
		t.Errorf("a saved plan must not hold secrets: %s", saved)
	}
	var read reconciler.Plan
	if err := json.Unmarshal(saved, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan, read, cmpopts.IgnoreFields(reconciler.Change{}, "Before", "After"), cmpopts.IgnoreFields(reconciler.Plan{}, "Inventory")); diff != "" {
		t.Errorf("saved and read (-want +got):\n%s", diff)
	}
}

func TestPlanOfWhatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(existing)
	const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/adoption-policy: never}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {"not a key": x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
date: {a: b}
`
	plan := w.plan(manifests, compare)
	lines := w.lines(plan)
	if want := "0 - ConfigMap NS/a! already exists and has no owner, but its adoption policy is never"; lines[0] != want {
		t.Errorf("got %q, want %q", lines[0], want)
	}
	if want := "! rejected by the API server: "; !strings.Contains(lines[1], want) || !strings.Contains(lines[1], "not a key") {
		t.Errorf("got %q, want %q", lines[1], want)
	}
	if want := "0 Created ConfigMap NS/c: does not exist"; lines[2] != want {
		t.Errorf("got %q, want %q", lines[2], want)
	}
	if a, b := plan.Changes[0], plan.Changes[1]; !a.Foreign || b.Foreign {
		t.Errorf("belongs to others: %v, %v; expected: only the first", a.Foreign, b.Foreign)
	}
	if want := []string{"unknown fields were left out: .date"}; !slices.Equal(plan.Changes[2].Notes, want) {
		t.Errorf("got the notes %v, want %v", plan.Changes[2].Notes, want)
	}
	_, err := w.apply(manifests)
	for _, change := range plan.Changes[:2] {
		w.expectRefusal(err, change.Object.String()+": "+change.Refusal)
	}
	_, err = w.engine.Plan(t.Context(), w.request(manifests+"---\n"+manifests), compare)
	w.expectRefusal(err, "ConfigMap NS/a: defined more than once")
}

// TestPlanCountsInWhatTheServerAdds has a field fall back to its default when it is reclaimed from others.
func TestPlanCountsInWhatTheServerAdds(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: main, image: example.com/none}]}
`
	w := newWorld(t)
	w.settle(manifest, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	w.patchAs(w.get("apps/v1", "Deployment", "a"), `{"spec":{"replicas":3}}`, "kubectl-edit")
	w.rested(manifest, "may have been changed by another client")
	change := w.plan(manifest, compare).Changes[0]
	if change.Verb != reconciler.VerbCorrected || change.Reason != "was changed by kubectl-edit: .spec.replicas" || change.Before == nil || change.After == nil {
		t.Fatalf("got %q, %q", change.Verb, change.Reason)
	}
	replicas := func(object *unstructured.Unstructured) int64 {
		value, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
		return value
	}
	if replicas(change.Before) != 3 || replicas(change.After) != 1 {
		t.Errorf("expected 3 replicas to become 1, got %d and %d", replicas(change.Before), replicas(change.After))
	}
	result, err := w.apply(manifest)
	if err != nil {
		t.Fatal(err)
	}
	w.expectActions(result, "Corrected Deployment a")
	stored := w.get("apps/v1", "Deployment", "a")
	if diff := cmp.Diff(presentable(stored), change.After.Object); diff != "" {
		t.Errorf("-stored +planned:\n%s", diff)
	}
}

// busy is a controller that writes an object before a dry run is sent, unless it was given some time since the last one.
type busy struct {
	next     http.RoundTripper
	write    func()
	answered time.Time // when the last dry run was answered
	hurried  bool
	writes   int
}

// RoundTrip sends a request.
func (b *busy) RoundTrip(request *http.Request) (*http.Response, error) {
	about := requests.New(request.Method, request.URL)
	switch {
	case about.Resource != "configmaps" || about.Name == "":
	case about.Method == http.MethodGet:
		b.hurried = time.Since(b.answered) < foreseeableTime
	case b.hurried || b.answered.IsZero():
		b.writes++
		b.write()
	}
	response, err := b.next.RoundTrip(request)
	if about.Query.Has("dryRun") {
		b.answered = time.Now()
	}
	return response, err
}

// foreseeableTime is less than a plan waits before it repeats a dry run.
const foreseeableTime = 80 * time.Millisecond

func TestPlanOfWhatIsBeingChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: VALUE}\n"
	w.mustApply(strings.Replace(manifest, "VALUE", `"1"`, 1))
	others := &busy{}
	others.write = func() {
		w.patch(w.configMap("a"), fmt.Sprintf(`{"metadata":{"annotations":{"write":"%d"}}}`, others.writes))
	}
	config := testenv.Config(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		others.next = next
		return others
	})
	engine, err := reconciler.New(prefix, newClusterClient(t, config), reconciler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := engine.Plan(t.Context(), w.request(strings.Replace(manifest, "VALUE", `"2"`, 1)), compare)
	if err != nil {
		t.Fatal(err)
	}
	if change := plan.Changes[0]; change.Verb != reconciler.VerbUpdated || change.After == nil || others.writes != 1 {
		t.Errorf("want an update with its content after a second dry run, got %q, %q after %d writes of others", change.Verb, change.Reason, others.writes)
	}
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
	w.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
}

func TestPlanOfRecreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := strings.Replace(expand(jobs, "JOB", "PREFIX/update-policy: recreate", "POD", "a: b"), `PREFIX/purge-order: "0", `, "", 1)
	w.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	changed := strings.ReplaceAll(manifests, "none:1", "none:2")
	change := w.plan(changed, compare).Changes[0]
	if change.Verb != reconciler.VerbUpdated || !change.Recreate || !change.Local {
		t.Errorf("expected an immutable Job to be recreated, which the server cannot dry-run, got %+v", change)
	}
	if diff := cmp.Diff(change.Before.Object, change.After.Object); strings.Count(diff, "\n-") != 1 || strings.Count(diff, "\n+") != 1 {
		t.Errorf("only the image is to differ, got:\n%s", diff)
	}
	w.settle(changed, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
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

// TestPlanNamesOtherOwners has the same reconciler plan for an owner what another one has. The watch does not show the names of owners, so only plans that ask have them.
func TestPlanNamesOtherOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}}`
	w.mustApply(manifest)
	request := w.request(manifest)
	request.ID, request.Inventory = "uid/elsewhere/other", nil
	for asks, owner := range map[bool]string{false: "", true: ", " + w.owner.ID} {
		plan, err := w.engine.Plan(t.Context(), request, reconciler.PlanOptions{Ask: asks})
		want := "already exists and has another owner" + owner + ", but its adoption policy is if-unowned"
		if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Refusal != want || !plan.Changes[0].Foreign {
			t.Errorf("want %q, got %+v, %v", want, plan.Changes, err)
		}
	}
}
