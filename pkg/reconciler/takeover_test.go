// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/reconciler"
	reconcilertypes "github.com/component-operator/runtime/pkg/types"
)

// heirOf returns a world in the same namespace whose owner is another one.
func heirOf(w *world) *world {
	heir := newWorld(w.TB)
	heir.namespace, heir.owner.Namespace = w.namespace, w.namespace
	return heir
}

// takeOver makes one pass that takes over the objects of these names.
func (w *world) takeOver(manifests string, names ...string) (reconciler.Plan, reconciler.Result) {
	w.Helper()
	request := w.request(manifests)
	for _, object := range request.Objects {
		if slices.Contains(names, object.GetName()) {
			request.TakeOver = append(request.TakeOver, objectAt(object, w.namespace))
		}
	}
	plan, err := w.engine.Plan(w.Context(), request, reconciler.PlanOptions{Compare: true})
	if err != nil {
		w.Fatal(err)
	}
	result, err := w.engine.Apply(w.Context(), request)
	if err != nil {
		w.Fatal(err)
	}
	w.owner.Inventory = result.Inventory
	return plan, result
}

func objectAt(object reconcilertypes.ObjectKey, namespace string) reconcilertypes.ObjectKey {
	return reconciler.ObjectInfo{
		TypeVersionInfo: reconciler.TypeVersionInfo(object.GetObjectKind().GroupVersionKind()),
		NameInfo:        reconciler.NameInfo{Namespace: namespace, Name: object.GetName()},
	}
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/adoption-policy: never, PREFIX/update-policy: recreate}}
data: {a: "VALUE"}
`
	w.mustApply(manifest)
	uid := w.configMap("a").GetUID()
	heir := heirOf(w)
	_, err := heir.apply(manifest)
	heir.expectRefusal(err, "has another owner, uid/NS/component")
	changed := strings.ReplaceAll(manifest, "VALUE", "new")
	plan, result := heir.takeOver(changed, "a")
	heir.expectPlan(plan, "0 Adopted ConfigMap NS/a: already exists and has another owner, uid/NS/component")
	heir.expectActions(result, "Adopted ConfigMap a")
	live := w.configMap("a")
	if live.GetUID() != uid || live.GetAnnotations()[prefix+"/owner-id"] != heir.owner.ID {
		t.Errorf("expected the same object with another owner, got %v", live.Object)
	}
	if diff := diffData(map[string]any{"a": "new"}, live); diff != "" {
		t.Error(diff)
	}
	_, result = heir.takeOver(changed, "a")
	heir.expectActions(result)
	// The former owner has lost it, and leaves it alone.
	w.mustDelete()
	if w.configMap("a") == nil {
		t.Error("the former owner has deleted what is not his any more")
	}
	heir.mustDelete()
}

// TestTakeOverOfWhatIsAppliedOnce must not change the content.
func TestTakeOverOfWhatIsAppliedOnce(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/reconcile-policy: once}}
data: {a: "1"}
`
	w := newWorld(t)
	w.mustApply(manifest)
	w.patch(w.configMap("a"), `{"data":{"a":"2"}}`)
	heir := heirOf(w)
	heir.owner.Inventory = w.owner.Inventory
	plan, result := heir.takeOver(manifest, "a")
	heir.expectPlan(plan, "0 Adopted ConfigMap NS/a: already exists and has another owner, uid/NS/component")
	if before, after := plan.Changes[0].Before, plan.Changes[0].After; before.GetAnnotations()[prefix+"/owner-id"] != w.owner.ID || after.GetAnnotations()[prefix+"/owner-id"] != heir.owner.ID {
		t.Errorf("expected the change of the owner to be shown, got %v and %v", before, after)
	}
	heir.expectActions(result, "Adopted ConfigMap a")
	if diff := diffData(map[string]any{"a": "2"}, w.configMap("a")); diff != "" {
		t.Error(diff)
	}
	if owner := w.configMap("a").GetAnnotations()[prefix+"/owner-id"]; owner != heir.owner.ID {
		t.Errorf("unexpected owner %s", owner)
	}
	heir.expectActions(heir.mustApply(manifest))
	heir.mustDelete()
	if w.configMap("a") != nil {
		t.Error("the new owner did not delete it")
	}
}

// TestPlanOfWhatIsLeftAlone shows who has changed which fields, also if the changes stay.
func TestPlanOfWhatIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var documents []string
	for _, policy := range []string{"correct", "report", "ignore"} {
		documents = append(documents, strings.ReplaceAll(`
apiVersion: v1
kind: ConfigMap
metadata: {name: POLICY, annotations: {PREFIX/drift-policy: POLICY}}
data: {a: "1", b: "1"}
`, "POLICY", policy))
	}
	manifests := strings.Join(documents, "---")
	w.mustApply(manifests)
	options := reconciler.PlanOptions{Compare: true, LeftAlone: true}
	w.expectPlan(w.plan(manifests, options), "0 - ConfigMap NS/correct", "0 - ConfigMap NS/ignore", "0 - ConfigMap NS/report")
	for _, policy := range []string{"correct", "report", "ignore"} {
		w.patchAs(w.configMap(policy), `{"data":{"a":"2","b":null,"c":"3"}}`, "somebody")
	}
	w.settlePlan(manifests, options, []string{
		"0 Corrected ConfigMap NS/correct: was changed by somebody: .data.a, .data.b, .data.c",
		"0 - ConfigMap NS/ignore: was changed by somebody: .data.a, .data.b, .data.c; left alone because its drift policy is ignore",
		"0 - ConfigMap NS/report: was changed by somebody: .data.a, .data.b, .data.c; left alone because its drift policy is report",
	})
	for _, change := range w.plan(manifests, options).Changes {
		var fields []string
		for _, field := range change.Changed {
			if (field.Manager == "") != (field.Time == nil) {
				t.Errorf("%s %s: a manager is known with a time, got %v", change.Object, field.Path, field)
			}
			fields = append(fields, field.Path+" "+field.Manager)
		}
		if diff := cmp.Diff([]string{".data.a somebody", ".data.b ", ".data.c somebody"}, fields); diff != "" {
			t.Errorf("%s: %s", change.Object, diff)
		}
		if diffData(map[string]any{"a": "1", "b": "1"}, change.After) != "" || diffData(map[string]any{"a": "2", "c": "3"}, change.Before) != "" {
			t.Errorf("%s: unexpected contents: %v and %v", change.Object, change.Before, change.After)
		}
	}
}

// settlePlan waits until the observer has seen what others did.
func (w *world) settlePlan(manifests string, options reconciler.PlanOptions, want []string) {
	w.Helper()
	var lines []string
	for range 100 {
		if lines = w.lines(w.plan(manifests, options)); cmp.Equal(want, lines) {
			return
		}
		select {
		case <-w.woken:
		case <-timer(100 * time.Millisecond):
		}
	}
	w.Errorf("plan (-want +got):\n%s", cmp.Diff(want, lines))
}
