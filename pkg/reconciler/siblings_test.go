// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// applyAmong makes one pass of an owner with siblings, and plans it before.
func (w *world) applyAmong(siblings map[string]reconciler.Relation, manifests string) (reconciler.Plan, reconciler.Result, error) {
	w.Helper()
	request := w.request(manifests)
	request.Siblings = siblings
	plan, err := w.engine.Plan(w.Context(), request, reconciler.PlanOptions{})
	if err != nil {
		w.Fatal(err)
	}
	result, err := w.engine.Apply(w.Context(), request)
	w.owner.Inventory = result.Inventory
	return plan, result, err
}

// pair has two owners of the same objects in one namespace.
type pair struct{ older, newer *world }

func newPair(t *testing.T) pair {
	t.Helper()
	older := newWorld(t)
	return pair{older: older, newer: heirOf(older)}
}

// applyOlder makes one pass of the older owner.
func (p pair) applyOlder(manifests string) (reconciler.Plan, reconciler.Result, error) {
	p.older.Helper()
	return p.older.applyAmong(map[string]reconciler.Relation{p.newer.owner.ID: reconciler.RelationNewer}, manifests)
}

// applyNewer makes one pass of the newer owner.
func (p pair) applyNewer(manifests string) (reconciler.Plan, reconciler.Result, error) {
	p.newer.Helper()
	return p.newer.applyAmong(map[string]reconciler.Relation{p.older.owner.ID: reconciler.RelationOlder}, manifests)
}

// awaitHandover makes passes of the older owner until it has seen that the newer one has its first object. What it has written last may be seen late.
func (p pair) awaitHandover(manifests string) (reconciler.Plan, reconciler.Result) {
	p.older.Helper()
	var plan reconciler.Plan
	var result reconciler.Result
	testenv.Eventually(p.older, func() (bool, string) {
		var err error
		if plan, result, err = p.applyOlder(manifests); err != nil {
			p.older.Fatal(err)
		}
		return p.holders()["a"] == p.newer.owner.ID, "the handover is not seen"
	})
	return plan, result
}

// holders returns the recorded holders of the objects of the older owner, by name.
func (p pair) holders() map[string]string {
	found := map[string]string{}
	for _, item := range p.older.owner.Inventory {
		found[item.Name] = item.Holder
	}
	return found
}

const shared = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/adoption-policy: never, PREFIX/update-policy: recreate}}
data: {a: "VALUE"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {b: "1"}
`

// TestHandover lets a newer owner take over one of two objects.
func TestHandover(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	older, newer := p.older, p.newer
	older.mustApply(shared)
	uid := older.configMap("a").GetUID()
	onlyA, _, _ := strings.Cut(strings.ReplaceAll(shared, "VALUE", "new"), "---")

	plan, result, err := p.applyNewer(onlyA)
	if err != nil {
		t.Fatal(err)
	}
	newer.expectPlan(plan, "0 Adopted ConfigMap NS/a: is handed over by uid/NS/component")
	newer.expectActions(result, "Adopted ConfigMap a")
	live := older.configMap("a")
	if live.GetUID() != uid || live.GetAnnotations()[prefix+"/owner-id"] != newer.owner.ID {
		t.Errorf("expected the same object with another owner, got %v", live.Object)
	}

	// The older owner leaves it alone, also if its manifest changes, corrects what it still has, and waits for nothing.
	p.awaitHandover(shared)
	older.patch(older.configMap("b"), `{"data":{"b":"changed by others"}}`)
	testenv.Eventually(t, func() (bool, string) {
		if _, _, err := p.applyOlder(shared); err != nil {
			t.Fatal(err)
		}
		diff := diffData(map[string]any{"b": "1"}, older.configMap("b"))
		return diff == "", diff
	})
	for _, manifests := range []string{shared, strings.ReplaceAll(shared, "VALUE", "old")} {
		plan, result, err = p.applyOlder(manifests)
		if err != nil || !result.Done {
			t.Fatalf("got %v, %v", result.Waits, err)
		}
		if reason := plan.Changes[0].Reason; plan.Changes[0].Verb != "" || reason != "was handed over to "+newer.owner.ID {
			t.Errorf("unexpected plan %+v", plan.Changes[0])
		}
		if holders := p.holders(); holders["a"] != newer.owner.ID || holders["b"] != "" {
			t.Errorf("unexpected holders %v", holders)
		}
	}
	if diff := diffData(map[string]any{"a": "new"}, older.configMap("a")); diff != "" {
		t.Error(diff)
	}

	// It deletes only what it still has.
	older.mustDelete()
	if older.configMap("a") == nil || older.configMap("b") != nil {
		t.Error("expected the object of the newer owner to be left")
	}
	newer.mustDelete()
}

// TestHandoverIsNotUndone: an object that the newer owner deletes, for example to create it again, is not created by the older one meanwhile; it is as soon as
// there is no newer owner any more.
func TestHandoverIsNotUndone(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.older.mustApply(shared)
	if _, _, err := p.applyNewer(shared); err != nil {
		t.Fatal(err)
	}
	p.awaitHandover(shared)
	p.older.remove(p.older.configMap("a"))
	p.older.quiesce()
	plan, result, err := p.applyOlder(shared)
	if err != nil {
		t.Fatal(err)
	}
	text := "was handed over to " + p.newer.owner.ID + ", and does not exist"
	if plan.Changes[0].Verb != "" || plan.Changes[0].Reason != text || len(result.Waits) != 1 || result.Waits[0].Message != text {
		t.Errorf("unexpected plan %+v, waits %v", plan.Changes[0], result.Waits)
	}
	// Without a newer owner, it is created again. What an unknown owner has is refused.
	if _, _, err := p.older.applyAmong(nil, shared); err == nil || !strings.Contains(err.Error(), "ConfigMap "+p.older.namespace+"/b: ") {
		t.Errorf("unexpected error %v", err)
	}
	p.newer.mustDelete()
	result = p.older.mustApply(shared)
	p.older.expectActions(result, "Restored ConfigMap b")
	if holders := p.holders(); holders["a"] != "" || holders["b"] != "" {
		t.Errorf("unexpected holders %v", holders)
	}
	p.older.mustDelete()
}

// TestHandoverOfWhatIsAppliedOnce keeps the content.
func TestHandoverOfWhatIsAppliedOnce(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/reconcile-policy: once}}
data: {a: "1"}
`
	p := newPair(t)
	p.older.mustApply(manifest)
	p.older.patch(p.older.configMap("a"), `{"data":{"a":"2"}}`)
	_, result, err := p.applyNewer(manifest)
	if err != nil {
		t.Fatal(err)
	}
	p.newer.expectActions(result, "Adopted ConfigMap a")
	if diff := diffData(map[string]any{"a": "2"}, p.newer.configMap("a")); diff != "" {
		t.Error(diff)
	}
	p.newer.mustDelete()
}

// TestHandoverWithRecreation: before an object is recreated, it belongs to the newer owner, so that the older one does not create it again meanwhile.
func TestHandoverWithRecreation(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/update-policy: recreate}}
immutable: true
data: {a: "VALUE"}
`
	p := newPair(t)
	p.older.mustApply(manifest)
	uid := p.older.configMap("a").GetUID()
	p.older.patch(p.older.configMap("a"), `{"metadata":{"finalizers":["test.component-operator.io/hold"]}}`)
	changed := strings.ReplaceAll(manifest, "VALUE", "new")
	if _, _, err := p.applyNewer(changed); err != nil {
		t.Fatal(err)
	}
	held := p.newer.configMap("a")
	if held.GetUID() != uid || held.GetDeletionTimestamp() == nil || held.GetAnnotations()[prefix+"/owner-id"] != p.newer.owner.ID {
		t.Errorf("expected the object to belong to the newer owner, and to be deleted, got %v", held.Object["metadata"])
	}
	p.awaitHandover(manifest)
	p.newer.patch(held, `{"metadata":{"finalizers":null}}`)
	p.older.quiesce()
	if _, result, err := p.applyOlder(manifest); err != nil || len(result.Actions) > 0 {
		t.Errorf("the older owner must not create it again: %v, %v", result.Actions, err)
	}
	testenv.Eventually(t, func() (bool, string) {
		_, result, err := p.applyNewer(changed)
		if err != nil {
			t.Fatal(err)
		}
		return result.Done, notices(result.Waits)
	})
	if diff := diffData(map[string]any{"a": "new"}, p.newer.configMap("a")); diff != "" {
		t.Error(diff)
	}
	p.newer.mustDelete()
}
