// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// newName is the name that reconcilers get in these tests.
const newName = "renamed.component-operator.io"

// renamed returns a world with the operator under its new name.
func (w *world) renamed() *world {
	w.Helper()
	return w.restart(func(s *setup) {
		s.name, s.options.RetainOutcomes, s.options.FormerNames = newName, true, []string{"older.example.io", prefix}
	})
}

func (w *world) rename() {
	w.Helper()
	result, err := w.engine.Rename(w.Context(), w.owner)
	if err != nil || len(result.Failures) > 0 {
		w.Fatal(err, result.Failures)
	}
	w.owner.Inventory = result.Inventory
}

// expectOnly expects the marks of the new name, and nothing of the former one.
func (w *world) expectOnly(object *unstructured.Unstructured) {
	w.Helper()
	raw, err := object.MarshalJSON()
	if err != nil {
		w.Fatal(err)
	}
	if text := string(raw); strings.Contains(text, prefix) || object.GetLabels()[newName+"/owner-id"] == "" || object.GetAnnotations()[newName+"/owner-id"] == "" {
		w.Errorf("want the marks of %s only, got %s", newName, text)
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withOptions(func(o *reconciler.Options) { o.RetainOutcomes = true }))
	const manifest = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: a}, annotations: {NAME/delete-policy: orphan}}, data: {one: "1", two: "2"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {one: "1"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: c, annotations: {NAME/reconcile-policy: on-object-or-component-change}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: never}]}}}
`
	former := strings.ReplaceAll(manifest, "NAME", prefix)
	if _, err := w.apply(former); err != nil {
		t.Fatal(err)
	}
	before := w.configMap("a")
	heir := w.renamed()
	heir.rename()
	after := heir.configMap("a")
	heir.expectOnly(after)
	heir.expectOnly(heir.get("v1", "Secret", "b"))
	job := heir.get("batch/v1", "Job", "c")
	heir.expectOnly(job)
	if want := []string{newName + "/outcome"}; !slices.Contains(job.GetFinalizers(), want[0]) {
		t.Errorf("want the finalizers %v, got %v", want, job.GetFinalizers())
	}
	if after.GetAnnotations()[newName+"/delete-policy"] != "orphan" || after.GetUID() != before.GetUID() {
		t.Errorf("want the same object with its policy, got %v", after.GetAnnotations())
	}
	if diff := cmp.Diff(before.Object["data"], after.Object["data"]); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	for _, entry := range after.GetManagedFields() {
		if entry.Manager != newName {
			t.Errorf("want %s to own all fields, got %+v", newName, entry)
		}
	}

	heir.rename()
	if again := heir.configMap("a"); again.GetResourceVersion() != after.GetResourceVersion() {
		t.Error("want a second call to change nothing")
	}
	present := strings.ReplaceAll(manifest, "NAME", newName)
	result, err := heir.apply(present)
	if err != nil {
		t.Fatal(err)
	}
	// The manifests of two of them name the reconciler in their annotations, which is no reason to apply them, nor to have the Job run again.
	heir.expectActions(result)
	if _, err := heir.apply(strings.Replace(present, `, two: "2"`, "", 1)); err != nil {
		t.Fatal(err)
	}
	if data, _, _ := unstructured.NestedMap(heir.configMap("a").Object, "data"); len(data) != 1 {
		t.Errorf("want a field that is not declared any more to go, got %v", data)
	}
	heir.mustDelete()
	if kept := heir.configMap("a"); kept == nil || kept.GetLabels()[newName+"/owner-id"] != "" || heir.get("v1", "Secret", "b") != nil {
		t.Errorf("want the deletion to follow the policies, got %v", kept)
	}
}

// TestRenameLeavesOthersAlone has objects that other owners, or others under a former name, have taken.
func TestRenameLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`
	w.mustApply(manifest)
	w.patch(w.configMap("a"), `{"metadata":{"labels":{"`+prefix+`/owner-id":"theirs"}}}`)
	before := w.configMap("a")
	heir := w.renamed()
	heir.rename()
	if after := heir.configMap("a"); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("want the object of another owner to stay as it is, got %v", after.GetLabels())
	}
	w.remove(before)
	heir.rename()
}

// TestWithoutFormerNames: a reconciler with another name does not adopt what it once had, and names the operator.
func TestWithoutFormerNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`
	w.mustApply(manifest)
	heir := w.restart(func(s *setup) { s.name = newName })
	_, err := heir.apply(manifest)
	want := "already exists and belongs to " + strings.TrimPrefix(w.owner.ID, "uid/") + " of operator " + prefix
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}

// TestDriftBeforeRename has others change dependents while no operator runs, and the operator get its new name then.
func TestDriftBeforeRename(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const manifest = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {one: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {one: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {one: "1"}}
`
	w.mustApply(manifest)
	w.patchAs(w.configMap("a"), `{"data":{"one":"2"}}`, "kubectl-edit")
	w.patch(w.configMap("b"), `{"metadata":{"labels":{"`+prefix+`/owner-id":null}}}`)
	heir := w.renamed()
	heir.rename()
	result, err := heir.apply(manifest)
	if err != nil {
		t.Fatal(err)
	}
	heir.expectOnly(heir.configMap("b"))
	if corrected := heir.configMap("a"); corrected.Object["data"].(map[string]any)["one"] != "1" { //nolint:forcetypeassert // the content is the test's own
		t.Errorf("want the drift to be corrected, got %v", result)
	}
	for _, action := range result.Actions {
		for _, object := range action.Objects {
			if object.GetName() == "c" {
				t.Errorf("want what is as it was to stay, got %+v", action)
			}
		}
	}
}

// TestRenameAfterALostAnswer has the marks of a dependent be replaced by a call whose result nobody has recorded.
func TestRenameAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"correct", "report"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {one: "1"}}`
			if policy == "report" {
				manifest = strings.Replace(manifest, "name: a", "name: a, annotations: {"+prefix+"/drift-policy: report}", 1)
			}
			w.mustApply(manifest)
			heir := w.renamed()
			if _, err := heir.engine.Rename(heir.Context(), heir.owner); err != nil {
				t.Fatal(err)
			}
			heir.rename()
			result, err := heir.apply(strings.ReplaceAll(manifest, prefix, newName))
			if err != nil || len(result.Actions)+len(result.Drift) > 0 {
				t.Errorf("want no drift, got %+v, %+v, %v", result.Actions, result.Drift, err)
			}
			w.patchAs(heir.configMap("a"), `{"data":{"one":"2"}}`, "kubectl-edit")
			heir.settle(strings.ReplaceAll(manifest, prefix, newName), func(result reconciler.Result) (bool, string) {
				isCorrected := heir.configMap("a").Object["data"].(map[string]any)["one"] == "1" //nolint:forcetypeassert // the content is the test's own
				return isCorrected == (policy == "correct") && len(result.Drift) > 0 != isCorrected, "drift is neither corrected nor reported"
			})
		})
	}
}

// meddler is a transport that lets a test act before the first patches of an object, and answer them.
type meddler struct {
	http.RoundTripper
	suffix string
	// act returns the status code of the answer; zero lets the request through.
	act func(patch int) int
	mu  sync.Mutex
	// patches is the number of patches so far.
	patches int
}

func (m *meddler) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPatch || !strings.HasSuffix(request.URL.Path, m.suffix) {
		return m.RoundTripper.RoundTrip(request)
	}
	m.mu.Lock()
	m.patches++
	code := m.act(m.patches)
	m.mu.Unlock()
	if code == 0 {
		return m.RoundTripper.RoundTrip(request)
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"nobody may change it","code":` + strconv.Itoa(code) + `}`
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request,
	}, nil
}

// meddled returns the world with the operator under its new name, whose patches of an object meet the function.
func (w *world) meddled(name string, act func(patch int) int) *world {
	w.Helper()
	return w.restart(func(s *setup) {
		s.name, s.options.FormerNames = newName, []string{prefix}
		s.config = rest.CopyConfig(s.config)
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return &meddler{RoundTripper: next, suffix: "/" + name, act: act}
		})
	})
}

// TestDriftDuringRename has another client change an object right before each of the patches that replace its marks.
func TestDriftDuringRename(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 2; at++ {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {one: "1"}}`
			w.mustApply(manifest)
			heir := w.meddled("a", func(patch int) int {
				if patch == at {
					w.patchAs(w.configMap("a"), `{"data":{"one":"2"}}`, "kubectl-edit")
				}
				return 0
			})
			heir.rename()
			if _, err := heir.apply(manifest); err != nil {
				t.Fatal(err)
			}
			found := heir.configMap("a")
			if data, _, _ := unstructured.NestedString(found.Object, "data", "one"); data != "1" {
				t.Errorf("want the drift to be corrected, got %q", data)
			}
			heir.expectOnly(found)
		})
	}
}

// TestRenameThatIsRefused has an object that nobody may patch at first. It is neither refused nor created again, and everything else goes on.
func TestRenameThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifest := `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {PREFIX/update-policy: recreate}}, data: {one: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {PREFIX/apply-order: "1"}}, data: {one: "1"}}
`
	w.mustApply(manifest)
	before := w.configMap("a")
	refused := true
	heir := w.meddled("a", func(int) int {
		if refused {
			return http.StatusForbidden
		}
		return 0
	})
	result, err := heir.engine.Rename(heir.Context(), heir.owner)
	if err != nil || len(result.Failures) != 1 {
		t.Fatalf("want one failure, got %v, %v", result.Failures, err)
	}
	heir.owner.Inventory = result.Inventory
	present := strings.NewReplacer("PREFIX", newName, `one: "1"}}
---`, `one: "1"}}
---`).Replace(strings.Replace(manifest, `order: "1"}}, data: {one: "1"}`, `order: "1"}}, data: {one: "2"}`, 1))
	applied, err := heir.apply(present)
	want := "ConfigMap a: still has the owner label or annotation of operator " + prefix + ", a former name of this one"
	if err != nil || notices(applied.Drift) != want {
		t.Errorf("want %q, got %q, %v", want, notices(applied.Drift), err)
	}
	if data, _, _ := unstructured.NestedString(heir.configMap("b").Object, "data", "one"); data != "2" {
		t.Errorf("want the next wave to be applied, got %q", data)
	}
	if _, err := heir.delete(); err == nil || !strings.Contains(err.Error(), "still has the owner label or annotation of operator "+prefix) {
		t.Errorf("want the deletion to wait, got %v", err)
	}
	refused = false
	heir.rename()
	heir.expectOnly(heir.configMap("a"))
	if after := heir.configMap("a"); after.GetUID() != before.GetUID() {
		t.Error("want the object not to be created again")
	}
	heir.mustDelete()
}
