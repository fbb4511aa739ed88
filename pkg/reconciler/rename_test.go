// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// newName is the name that reconcilers get in these tests.
const newName = "renamed.component-operator.io"

// renamed returns a world with the operator under its new name.
func (w *world) renamed() *world {
	w.Helper()
	return w.restart(func(s *setup) { s.name, s.options.RetainOutcomes = newName, true })
}

func (w *world) rename() {
	w.Helper()
	items, err := w.engine.Rename(w.Context(), reconciler.RenameRequest{Owner: w.owner, FormerNames: []string{"older.example.io", prefix}})
	if err != nil {
		w.Fatal(err)
	}
	w.owner.Inventory = items
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
	// The manifests of these two name the reconciler in their annotations.
	heir.expectActions(result, "Updated ConfigMap a", "Updated Job c")
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
	heir := w.renamed()
	_, err := heir.apply(manifest)
	want := "exists already and belongs to " + w.owner.ID + " of operator " + prefix
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}
